import { expect, test } from 'vitest';
import {
  ANSWER_MAX,
  EMPTY_RING,
  type ListedEvent,
  NOTHING_OLDER,
  notShown,
  olderRange,
  withAnswer,
  withOlder,
} from '#services/dashboard/src/pages/live/live_events.ts';

const NOW_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const event = (n: number): ListedEvent => ({
  ...{ event_id: `e-${n}`, event: 'page_view', timestamp: NOW_MS + n, received_at: NOW_MS + n, distinct_id: 'd' },
  ...{ person_id: 'p', action_source: 'website', mode: 'online', country: '', value: null, currency: '', order_id: '' },
  properties: {},
});
/** Events a millisecond apart, the newest first. */
const between = (first: number, last: number): ListedEvent[] =>
  Array.from({ length: last - first + 1 }, (_, at) => event(last - at));

test('it is read from the oldest of the ring, which is read again as others may have come with it', () => {
  const ring = withAnswer(EMPTY_RING, between(1, 900), NOW_MS);
  expect(olderRange(ring, NOTHING_OLDER, NOW_MS)).toEqual({
    after: NOW_MS + 401 - 10 * MINUTE_MS,
    before: NOW_MS + 402,
  });
  const older = withOlder(ring, NOTHING_OLDER, between(100, 401), NOW_MS);
  expect(older.events.map(({ event_id }) => event_id)).toEqual(between(100, 400).map(({ event_id }) => event_id));
  expect([older.readTo, notShown(ring, older.events.length)]).toEqual([NOW_MS, '99 not shown']);
});

test('an answer as long as may be was cut, and the next begins with its last one', () => {
  const ring = withAnswer(EMPTY_RING, between(5_000, 5_499), NOW_MS);
  const older = withOlder(ring, NOTHING_OLDER, between(5_000 - ANSWER_MAX, 4_999), NOW_MS);
  expect(olderRange(ring, older, NOW_MS).before).toBe(NOW_MS + 5_000 - ANSWER_MAX + 1);
  expect(older.windowMs).toBe(NOTHING_OLDER.windowMs);
});

test('where little came the next answer reads further, and no millisecond is asked for without end', () => {
  const few = withOlder(EMPTY_RING, NOTHING_OLDER, [], NOW_MS);
  expect([few.windowMs, few.readTo]).toEqual([40 * MINUTE_MS, NOW_MS]);
  const same = Array.from({ length: ANSWER_MAX }, () => event(7));
  const once = withOlder(EMPTY_RING, few, same.slice(0, 1), NOW_MS);
  expect(withOlder(EMPTY_RING, once, same, NOW_MS).readTo).toBe(NOW_MS + 6);
});
