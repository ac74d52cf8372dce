import {
  ANSWER_MS_MAX,
  BACKOFF_MS,
  BACKOFF_MS_MAX,
  EVENTS_MAX,
  RETRY_AFTER_S_MAX,
  WAITING_CHARACTERS_MAX,
  WAITING_MAX,
} from './limits.ts';

/**
 * Asks the edge, as nobody in particular: without cookies, and without the path and query of the page. Rejects where there is
 * no answer within 30 s, and where the browser forbids to ask.
 */
export const ask = async (url: string, more?: RequestInit): Promise<Response> =>
  fetch(url, {
    credentials: 'omit',
    referrerPolicy: 'strict-origin',
    // An old browser waits as long as it likes.
    signal: AbortSignal.timeout?.(ANSWER_MS_MAX) as AbortSignal,
    ...more,
  });

/** What came of a request. */
interface Outcome<Answer> {
  /** Undefined where nothing was answered. */
  answer_?: Response | undefined;
  /** What the edge answered for good; undefined where somebody else did, or nobody: then it is to be asked again. */
  told_?: (Answer & Told) | undefined;
}

/**
 * Whether it is the edge that answers, and for good: with the member that its route's answers have, or by an error of its own.
 * A gateway's 404 while the edge is deployed, or a network's page that asks to sign in, is neither.
 */
export const isFinal = (status: number | undefined, told: Told | undefined, member: string): boolean =>
  !!told && (member in told || (!!told.error && /4(0[013]|13)/.test(`${status}`)));

/** Asks the edge, whose answers have that member where it does not refuse. */
export const askFor = async <Answer>(member: string, url: string, more?: RequestInit): Promise<Outcome<Answer>> => {
  const answer_ = await ask(url, more).catch(() => undefined);
  const told = (await answer_?.json().catch(() => undefined)) as (Answer & Told) | undefined;
  return { answer_, told_: isFinal(answer_?.status, told, member) ? told : undefined };
};

/** An event as it waits: its key, a UUIDv7 by which it is in order of time, and the event as JSON. */
export type Waiting = readonly [key: string, json: string];

/**
 * How long to wait after the given number of failures in a row: from 1 s doubled up to 5 min, 50 % more or less, so that
 * pages do not come back together. What the edge asks for is waited in full, and up to a second more.
 *
 * @param random from 0 to 1.
 * @param retryAfter the header's seconds; null or a date are the rule's own wait.
 */
export const waitMs = (failures: number, random: number, retryAfter: string | null | undefined): number => {
  // Of a text it makes a number; of a date none.
  const asked = Math.min(retryAfter as unknown as number, RETRY_AFTER_S_MAX);
  if (asked > 0) return (asked + random) * 1000;
  return Math.min(BACKOFF_MS * 2 ** failures, BACKOFF_MS_MAX) * (0.5 + random);
};

/** Whether an answer's status, undefined where there was no answer, says nothing against its batch: it is sent again. */
export const isForLater = (status?: number): boolean => !status || status >= 500 || status === 429 || status === 408;

/** What an answer's JSON may hold, as far as anybody looks at it. */
export interface Told {
  /** Of an answer that refuses. */
  error?: unknown;
  /** Of a batch: those of its events that were refused. */
  rejected?: readonly unknown[];
}

export const bytesOf = ([, json]: Waiting): number => new Blob([json]).size;

/** The first events that go together, one at least, and their bytes. */
export const cutBatch = (waiting: readonly Waiting[], bytesMax: number): [batch: Waiting[], bytes: number] => {
  const batch: Waiting[] = [];
  let bytes = 0;
  for (const one of waiting.slice(0, EVENTS_MAX)) {
    const more = bytesOf(one) + 1;
    if (batch[0] && bytes + more > bytesMax) break;
    batch.push(one);
    bytes += more;
  }
  return [batch, bytes];
};

/** The body of a request. It says when it is sent by the clock that the events' times are of, which may be wrong. */
export const bodyOf = (batch: readonly Waiting[], nowMs: number): string =>
  `{"sent_at":${nowMs || null},"events":[${batch.map(([, json]) => json).join()}]}`;

/** By how an event begins: 1 of conversions, and of pages and who somebody is, whose names begin with `$`. */
const worth = ([, json]: Waiting): number => +/^.{10}(\$|purchase|(generate_)?lead|sign_up)/.test(json);

/** What is too much to keep, beyond 1,000 events or 1 MiB: the oldest, of what is worth most the last. Newest first. */
export const excessOf = (waiting: readonly Waiting[]): Waiting[] => {
  let room = WAITING_CHARACTERS_MAX;
  return [...waiting]
    .reverse()
    .sort((one, other) => worth(other) - worth(one))
    .filter(([, json], at) => {
      room -= json.length;
      return at >= WAITING_MAX || room < 0;
    });
};
