// What adapters make requests with, and how they judge answers.
import type { Health } from './breaker.ts';
import type { Answer, EventVerdict, HttpRequest, SerializedEvent, Verdict } from './contract.ts';
import { textField } from './setting_fields.ts';

export const DELIVERED: EventVerdict = { kind: 'delivered' };

export const retry = (reason: string, detail = ''): EventVerdict => ({ kind: 'retry', reason, detail });
export const dead = (reason: string, detail = ''): EventVerdict => ({ kind: 'dead', reason, detail });
export const credentialsBroken = (reason: string, detail = ''): EventVerdict => ({
  kind: 'credentials_broken',
  reason,
  detail,
});
/** @param refusedIndexes places of the events that the platform named, from 0. */
export const split = (reason: string, detail = '', refusedIndexes: readonly number[] = []): Verdict => ({
  kind: 'split',
  reason,
  detail,
  ...(refusedIndexes.length === 0 ? {} : { refusedIndexes }),
});
/** A refusal in words that may be about an event in the request or about the destination. */
export const doubtful = (reason: string, detail = ''): Verdict => ({ kind: 'split', reason, detail, isDoubtful: true });

/**
 * What a count of the events taken says: all, none, or some that are not told apart. None taken is a refusal like any
 * other, under `reason`.
 */
export function takenOf(taken: number, sent: number, reason: string, detail = ''): Verdict {
  if (taken >= sent) return DELIVERED;
  if (taken <= 0) return doubtful(reason, detail);
  return { kind: 'taken_in_part', taken, detail };
}

export const throttle = (reason: string, retryAfterMs: number | null, detail = ''): EventVerdict => ({
  kind: 'throttle',
  reason,
  detail,
  retryAfterMs,
});

/**
 * What a Retry-After header asks for, in milliseconds; null when there is none that can be read. RFC 9110 allows seconds
 * or a date; a date is read against the answer's own Date header, so that our clock does not matter.
 */
export function retryAfterMs(headers: Record<string, string>): number | null {
  const value = headers['retry-after']?.trim();
  if (value === undefined || value === '') return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const waitMs = Date.parse(value) - Date.parse(headers['date'] ?? '');
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

/** Whether an answer is a web page: a proxy or an error page stands where the platform should. */
function isHtml(answer: Extract<Answer, { kind: 'answered' }>): boolean {
  return (answer.headers['content-type'] ?? '').includes('text/html') || /^\s*<(!doctype|html)/i.test(answer.body);
}

function healthOfEvents(verdicts: readonly EventVerdict[]): Health {
  const healths = verdicts.map(healthOf);
  const broken = healths.find((health) => health.kind === 'credentials_broken');
  const throttled = healths.find((health) => health.kind === 'throttled');
  const well = healths.find((health) => health.kind === 'well');
  return broken ?? throttled ?? well ?? healths[0] ?? { kind: 'well' };
}

/** What an answer shows of the platform's health; a judgement of events, good or bad, shows that it works. */
export function healthOf(verdict: Verdict): Health {
  switch (verdict.kind) {
    case 'delivered':
    case 'taken_in_part':
      return { kind: 'well' };
    case 'dead':
    case 'split':
      return verdict.isDoubtful === true ? { kind: 'doubtful' } : { kind: 'well' };
    case 'retry':
      return { kind: 'failing', reason: verdict.reason };
    case 'throttle':
      return { kind: 'throttled', reason: verdict.reason, retryAfterMs: verdict.retryAfterMs };
    case 'credentials_broken':
      return { kind: 'credentials_broken', reason: verdict.reason };
    case 'per_event':
      return healthOfEvents(verdict.verdicts);
  }
}

type Answered = Extract<Answer, { kind: 'answered' }>;

/** The value of a JSON text; null when it is none. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a status says where a platform's own words say nothing. */
function classifyStatus(status: number, waitMs: number | null): Verdict {
  const reason = `http_${status}`;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 429) return throttle(reason, waitMs);
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  if (status === 413) return split(reason);
  return status === 400 || status === 422 ? doubtful(reason) : retry(reason);
}

/**
 * Reads an answer as all platforms' are: no answer is to be repeated, and so is a web page, as a proxy stands where the
 * platform should. The rest is the platform's own to read; what it leaves, by null, is judged by status.
 *
 * @param read the platform's reading of the body's JSON, null when it is none, and of the wait it asks for.
 */
export function classifyAnswer(
  answer: Answer,
  read: (body: unknown, answer: Answered, waitMs: number | null) => Verdict | null,
): Verdict {
  if (answer.kind === 'no_answer') {
    return answer.reason === 'address_refused' ? credentialsBroken('address_refused') : retry(answer.reason);
  }
  if (isHtml(answer)) return retry('html_answer', `status ${answer.status}`);
  const waitMs = retryAfterMs(answer.headers);
  return read(readJson(answer.body), answer, waitMs) ?? classifyStatus(answer.status, waitMs);
}

/** A word of a platform's (an error code, a status) that may stand in a reason or detail; '' for anything else. */
export const safeWord = (value: unknown): string =>
  (typeof value === 'string' || typeof value === 'number') && /^[\w.-]{1,64}$/.test(String(value)) ? String(value) : '';

/** The setting for a platform's address, which a site changes only for a gateway of its own. */
export const baseUrlField = (platform: string) =>
  textField({
    title: 'Address',
    called: true,
    description: 'Of the API; changed only for a gateway of your own.',
    pattern: '^https?://[^\\s?#]+$',
    default: platform,
  });

/** Where requests go. An address from a site's settings that is not the platform's own is not trusted. */
interface Address {
  base: string;
  trusted: boolean;
}

/**
 * @param override of the whole process; null in production.
 * @param configured by the site.
 * @param platform the platform's own.
 */
export function addressOf(override: string | null, configured: string, platform: string): Address {
  const base = (override ?? configured).replace(/\/+$/, '');
  return { base, trusted: override !== null || configured === platform };
}

/** A POST of a JSON text to a path, which begins with a slash. */
export const postJson = (
  { base, trusted }: Address,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): HttpRequest => ({
  method: 'POST',
  url: base + path,
  headers: { 'content-type': 'application/json', ...headers },
  body,
  trusted,
});

/** What stands around the forms of a request's events in its JSON body. */
export interface Envelope {
  /** The body with these events in it. */
  around(pieces: readonly SerializedEvent[]): string;
  /** Bytes of the body without any event. */
  bytes: number;
}

/** The forms as the inside of a JSON list. */
export const joined = (pieces: readonly SerializedEvent[]): string => pieces.map((piece) => piece.json).join(',');

/** @param before the text up to the first form, `after` that behind the last. */
export const envelope = (before: string, after: string): Envelope => ({
  around: (pieces) => before + joined(pieces) + after,
  bytes: Buffer.byteLength(before + after),
});

/** A record without what is null or undefined. */
export const present = (record: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null && value !== undefined));

/** The same, or null when nothing is left. */
export function presentOrNull(record: object): Record<string, unknown> | null {
  const left = present(record);
  return Object.keys(left).length === 0 ? null : left;
}

/** A list of several, the only one by itself, or null: for platforms that take both. */
export const oneOrList = <T>(list: readonly T[]): T | readonly T[] | null =>
  list.length > 1 ? list : (list[0] ?? null);

/** A list, or null when it is empty. */
export const listOrNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

const LONE_START = /[\uD800-\uDBFF]$/;

/**
 * The first characters of a text, as a platform counts them. A character of two halves, as an emoji is, is not cut: strict readers
 * refuse JSON with half of one.
 *
 * @param charactersMax in units of UTF-16.
 */
export function cutText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : text.slice(0, charactersMax).replace(LONE_START, '');
}
