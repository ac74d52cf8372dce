import {
  BACKOFF_FIRST_MS,
  BACKOFF_MS_MAX,
  EVENTS_MAX,
  RETRY_AFTER_S_MAX,
  WAITING_CHARACTERS_MAX,
  WAITING_MAX,
} from './limits.ts';

/** An event as it waits: its key, a UUIDv7 by which it is in order of time, and the event as JSON. */
export type Waiting = readonly [key: string, json: string];

/**
 * How long to wait after the given number of failures in a row: from 1 s doubled up to 5 min, 50 % more or less, so that
 * pages do not come back together. What the edge asks for is waited in full, and up to a second more.
 *
 * @param random from 0 to 1.
 * @param retryAfter the header's seconds; null or a date are the rule's own wait.
 */
export function waitMs(failures: number, random: number, retryAfter: string | null | undefined): number {
  // Of a text it makes a number; of a date none.
  const asked = Math.min(retryAfter as unknown as number, RETRY_AFTER_S_MAX);
  if (asked > 0) return (asked + random) * 1000;
  return Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MS_MAX) * (0.5 + random);
}

/** Whether an answer's status, undefined where there was no answer, says nothing against its batch: it is sent again. */
export const isForLater = (status?: number): boolean => !status || status >= 500 || status === 429 || status === 408;

export const bytesOf = ([, json]: Waiting): number => new Blob([json]).size;

/** The first events that go together, one at least, and their bytes. */
export function cutBatch(
  waiting: readonly Waiting[],
  bytesMax: number,
  eventsMax = EVENTS_MAX,
): [batch: Waiting[], bytes: number] {
  const batch: Waiting[] = [];
  let bytes = 0;
  for (const one of waiting.slice(0, eventsMax)) {
    const more = bytesOf(one) + 1;
    if (batch[0] && bytes + more > bytesMax) break;
    batch.push(one);
    bytes += more;
  }
  return [batch, bytes];
}

/** The body of a request. */
export const bodyOf = (batch: readonly Waiting[]): string => `{"events":[${batch.map(([, json]) => json).join()}]}`;

/** How many of the oldest are too many to keep: beyond 1,000 events or 1 MiB. */
export function excessOf(waiting: readonly Waiting[]): number {
  let room = WAITING_CHARACTERS_MAX;
  let first = waiting.length;
  for (const [, json] of waiting.slice(-WAITING_MAX).reverse()) {
    room -= json.length;
    if (room < 0) break;
    first -= 1;
  }
  return first;
}
