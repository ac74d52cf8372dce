import { expect, test } from 'vitest';
import {
  ANSWER_MAX,
  askedAfter,
  EMPTY_RING,
  type ListedEvent,
  notShown,
  RING_MAX,
  type Ring,
  withAnswer,
} from '#services/dashboard/src/pages/live/live_events.ts';

const NOW_MS = 1_800_000_000_000;
const event = (n: number, received_at: number): ListedEvent => ({
  ...{ event_id: `e-${n}`, event: 'page_view', timestamp: received_at, received_at, distinct_id: 'd', person_id: 'p' },
  ...{ action_source: 'website', mode: 'online', country: '', value: null, currency: '', order_id: '', properties: {} },
});
/** Events a millisecond apart, the newest first, the last one `n`. */
const upTo = (n: number, count: number): ListedEvent[] =>
  Array.from({ length: count }, (_, at) => event(n - at, NOW_MS + n - at));
/** What an answer adds that is given as soon as its newest event has arrived. */
const taken = (ring: Ring, events: readonly ListedEvent[]): Ring =>
  withAnswer(ring, events, Math.max(...events.map(({ received_at }) => received_at)));
const idsOf = ({ events }: Ring): string[] => events.map(({ event_id }) => event_id);

test('each event counts once, however often it is answered', () => {
  const ring = taken(taken(EMPTY_RING, upTo(3, 3)), upTo(4, 4));
  expect(idsOf(ring)).toEqual(['e-4', 'e-3', 'e-2', 'e-1']);
  expect([ring.seen, notShown(ring)]).toEqual([4, '']);
});

test('an event that becomes a row late is put where it belongs', () => {
  const ring = taken(taken(EMPTY_RING, [event(1, NOW_MS), event(3, NOW_MS + 9_000)]), [event(2, NOW_MS + 4_000)]);
  expect(idsOf(ring)).toEqual(['e-3', 'e-2', 'e-1']);
});

test('what the ring has no room for is counted, and does not count again when it comes again', () => {
  let ring = taken(EMPTY_RING, upTo(400, 400));
  ring = taken(ring, upTo(RING_MAX + 100, 300));
  expect([ring.events.length, ring.seen, notShown(ring)]).toEqual([RING_MAX, RING_MAX + 100, '100 not shown']);
  expect(taken(ring, [event(1, NOW_MS + 1)]).seen).toBe(RING_MAX + 100);
});

test('an answer as long as may be, with nothing in it that was known, may have been cut, but the first', () => {
  const first = taken(EMPTY_RING, upTo(ANSWER_MAX, ANSWER_MAX));
  expect(notShown(first)).toBe('500 not shown');
  const second = taken(first, upTo(3 * ANSWER_MAX, ANSWER_MAX));
  expect(notShown(second)).toBe('at least 1,500 not shown');
});

test('after an hour of 200 events a second no more is known than may come again', () => {
  let ring = EMPTY_RING;
  for (let second = 1; second <= 3_600; second += 9) {
    const at = NOW_MS + second * 1_000;
    ring = taken(
      ring,
      Array.from({ length: 200 }, (_, n) => event(second * 200 + n, at + n * 5)),
    );
  }
  expect(ring.seen).toBe(80_000);
  expect(ring.events.length).toBe(RING_MAX);
  expect(ring.known.size).toBeLessThanOrEqual(66 * 200);
});

test('the next question reaches back the further the fewer come, in whole seconds', () => {
  expect(NOW_MS - askedAfter(EMPTY_RING, NOW_MS)).toBe(600_000);
  const seldom = taken(EMPTY_RING, [event(1, NOW_MS)]);
  expect(NOW_MS - askedAfter(seldom, NOW_MS)).toBe(60_000);
  const often = taken(EMPTY_RING, upTo(2_000, 1_000));
  expect(often.rate).toBe(100);
  expect(NOW_MS + 2_000 - askedAfter(often, NOW_MS)).toBe(3_000);
});

test('the rate falls when nothing comes any more, and is none where the last came long ago', () => {
  const last = NOW_MS + 100;
  const busy = taken(EMPTY_RING, upTo(100, 100));
  expect(busy.rate).toBe(10);
  expect(withAnswer(busy, [], last + 4_000).rate).toBe(10);
  expect(withAnswer(busy, [], last + 14_950).rate).toBe(5);
  expect(withAnswer(busy, [], last + 20_000).rate).toBe(0);
  expect(withAnswer(EMPTY_RING, upTo(100, 100), last + 540_000).rate).toBe(0);
});
