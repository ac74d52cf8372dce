import { expect, test } from 'vitest';
import { bodyOf, cutBatch, excessOf, isFinal, isForLater, type Waiting, waitMs } from '#services/tag/src/requests.ts';

const waiting = (count: number, characters = 10): Waiting[] =>
  Array.from({ length: count }, (_, at): Waiting => [`key-${at}`, 'x'.repeat(characters)]);

test('the wait doubles from one second to five minutes, half of it more or less', () => {
  expect([1, 2, 3, 4].map((failures) => waitMs(failures, 0.5, null))).toEqual([1000, 2000, 4000, 8000]);
  expect([0, 1].map((random) => waitMs(1, random, null))).toEqual([500, 1500]);
  expect(waitMs(40, 0.5, null)).toBe(300_000);
});

test('what the edge asks for is waited in full, and up to a second more', () => {
  expect([0, 0.999].map((random) => waitMs(3, random, '7'))).toEqual([7000, 7999]);
});

test('a Retry-After that is a date leaves the wait as it is', () => {
  expect(waitMs(1, 0.5, 'Tue, 24 Nov 2026 07:00:00 GMT')).toBe(1000);
});

test('a Retry-After of years ends after a day', () => {
  expect(waitMs(1, 0, '99999999')).toBe(86_400_000);
});

test.for([0, 429, 408, 500, 503])('status %i comes again', (status) => {
  expect(isForLater(status)).toBe(true);
});

test.for([200, 204, 400, 401, 403, 413])('status %i does not come again as it is', (status) => {
  expect(isForLater(status)).toBe(false);
});

test('a batch holds fifty events', () => {
  expect(cutBatch(waiting(70), 1_000_000)[0]).toHaveLength(50);
});

test('a batch is cut before its bytes are too many, counted in UTF-8', () => {
  const wide = waiting(10).map(([key]): Waiting => [key, 'é'.repeat(100)]);
  expect(cutBatch(wide, 603)).toEqual([wide.slice(0, 3), 603]);
});

test('an event that is too large by itself goes alone', () => {
  expect(cutBatch(waiting(3, 5000), 1000)[0]).toHaveLength(1);
});

test('the body is one JSON text of all events', () => {
  const events = [
    { event: 'a', properties: { x: 1 } },
    { event: 'b', properties: { y: '}}' } },
  ];
  const batch = events.map((event, at): Waiting => [`${at}`, JSON.stringify(event)]);
  expect(JSON.parse(bodyOf(batch, 1_800_000_000_000))).toEqual({ sent_at: 1_800_000_000_000, events });
});

test('of a clock that tells no time the body says no time of sending', () => {
  expect(JSON.parse(bodyOf([], Number.NaN))).toEqual({ sent_at: null, events: [] });
});

const keysOf = (batch: readonly Waiting[]): string[] => batch.map(([key]) => key);

test('a thousand events are kept, and of more the oldest are too many', () => {
  expect([1000, 1003].map((count) => keysOf(excessOf(waiting(count))))).toEqual([[], ['key-2', 'key-1', 'key-0']]);
});

test('what is beyond one MiB is too much, the oldest first', () => {
  expect(excessOf(waiting(20, 100_000))).toHaveLength(10);
});

test('pages, conversions and who somebody is are too many last', () => {
  const named = (event: string): Waiting => [event, JSON.stringify({ event, uuid: '' })];
  const worthMost = ['$pageview', 'purchase', 'lead', 'generate_lead', 'sign_up', '$identify'].map(named);
  const noise = waiting(1000).map(([key]): Waiting => [key, JSON.stringify({ event: 'noise' })]);
  expect(keysOf(excessOf([...worthMost, ...noise]))).toEqual(['key-5', 'key-4', 'key-3', 'key-2', 'key-1', 'key-0']);
});

const ERROR = { error: { code: 'key_invalid', message: '' } };
test.for([
  [200, { accepted: 0 }, true],
  [200, { accepted: 2, rejected: [] }, true],
  [400, ERROR, true],
  [401, ERROR, true],
  [403, ERROR, true],
  [413, ERROR, true],
  [200, undefined, false],
  [200, { status: 'ok' }, false],
  [204, undefined, false],
  [400, undefined, false],
  [403, { message: 'Forbidden' }, false],
  [404, { error: 'Not Found' }, false],
  [410, undefined, false],
  [429, ERROR, false],
  [451, undefined, false],
  [503, ERROR, false],
  [undefined, undefined, false],
] as const)('status %s with %j is the edge’s word for good: %s', ([status, told, is]) => {
  expect(isFinal(status, told as object | undefined, 'accepted')).toBe(is);
});
