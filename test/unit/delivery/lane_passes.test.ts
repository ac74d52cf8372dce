import { expect, test } from 'vitest';
import type { InRecord } from '#infra/kafka/record.ts';
import { createRetryPolls } from '#services/delivery/retry_topics.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGAN_MS = 1_000 * HOUR_MS;

/** A lane of one hour whose records were all written when the process began, and how many of them make way. */
function world(delayMs = HOUR_MS) {
  let isAlone = true;
  const scans = createRetryPolls(BEGAN_MS, () => isAlone);
  const retryTopic = { topic: 'delivery.meta.retry.1h', partition: 0 };
  const recordParked = (siteId: string, writtenMs: number, isDue = false): void =>
    scans.recordParked(retryTopic, siteId, writtenMs, isDue);
  const readAt = (nowMs: number, writtenMs = BEGAN_MS): number => {
    const record = { offset: 0, key: null, value: null, headers: {}, timestampMs: writtenMs } as unknown as InRecord;
    return scans.skipCount({ ...retryTopic, records: [record] }, delayMs, nowMs);
  };
  return { scans, recordParked, readAt, share: (alone: boolean) => (isAlone = alone) };
}

/** A lane that was passed over while nobody else wrote to it. */
function knownLane() {
  const made = world();
  const passedMs = BEGAN_MS + MINUTE_MS;
  made.readAt(passedMs);
  return { ...made, passedMs };
}

test('a lane is passed over when it is first read, and for the release of a site of which something lies there', () => {
  const { scans, recordParked, readAt, passedMs } = knownLane();
  expect(readAt(passedMs + 1, passedMs + 1)).toBe(0);
  recordParked('a', passedMs + MINUTE_MS);
  scans.released('b', passedMs + 2 * MINUTE_MS);
  expect([scans.look(passedMs + 2 * MINUTE_MS), readAt(passedMs + 2 * MINUTE_MS, passedMs + 1)]).toEqual([false, 0]);
  scans.released('a', passedMs + 2 * MINUTE_MS);
  expect([scans.look(passedMs + 2 * MINUTE_MS), readAt(passedMs + 2 * MINUTE_MS, passedMs + 1)]).toEqual([true, 1]);
  expect(scans.look(passedMs + 3 * MINUTE_MS)).toBe(false);
});

test('a pass comes to all that was written before it began, and is not begun again for it', () => {
  const { scans, recordParked, readAt, passedMs } = knownLane();
  recordParked('a', passedMs + MINUTE_MS);
  scans.released('a', passedMs + 10 * MINUTE_MS);
  expect(readAt(passedMs + 10 * MINUTE_MS, passedMs + 1)).toBe(1);
  scans.released('a', passedMs + 11 * MINUTE_MS);
  expect(scans.look(passedMs + 20 * MINUTE_MS)).toBe(false);
});

test('nothing lies there any more of a site whose records are older than the first that is read', () => {
  const { scans, recordParked, readAt, passedMs } = knownLane();
  recordParked('a', passedMs + MINUTE_MS);
  readAt(passedMs + 10 * MINUTE_MS, passedMs + 5 * MINUTE_MS);
  scans.released('a', passedMs + 10 * MINUTE_MS);
  expect(scans.look(passedMs + 10 * MINUTE_MS)).toBe(false);
});

test('what was released while it was written to the lane is passed to', () => {
  const { scans, recordParked, passedMs } = knownLane();
  recordParked('a', passedMs + 2 * MINUTE_MS, true);
  expect(scans.look(passedMs + 2 * MINUTE_MS)).toBe(true);
});

test('a lane rests between two passes, is woken then, and again if it did not hear, until all that lies there is due', () => {
  const { scans, recordParked, readAt, passedMs } = knownLane();
  recordParked('a', passedMs + 1);
  scans.released('a', passedMs + 2);
  // What was read of it before, and became due, does not rest with it.
  expect([3, 4].map((ms) => scans.look(passedMs + ms))).toEqual([true, false]);
  expect(readAt(passedMs + 4, passedMs + 1)).toBe(0);
  const looks = [MINUTE_MS, MINUTE_MS + 1, 2 * MINUTE_MS, HOUR_MS + MINUTE_MS];
  expect(looks.map((ms) => scans.look(passedMs + ms))).toEqual([true, false, true, false]);
});

test('where others write to the lane, it is passed over for the release of any site, but once in half of its delay', () => {
  const { scans, readAt, share, passedMs } = knownLane();
  share(false);
  scans.look(passedMs + 1);
  scans.released('a', passedMs + 2);
  expect([28, 29, 30].map((minutes) => scans.look(passedMs + minutes * MINUTE_MS))).toEqual([true, false, true]);
  share(true);
  const aloneMs = passedMs + 31 * MINUTE_MS;
  expect(readAt(aloneMs)).toBe(1);
  scans.released('a', aloneMs + MINUTE_MS);
  expect(scans.look(aloneMs + 30 * MINUTE_MS)).toBe(false);
});

test('what others write to a short lane for a site that waits here too is passed to as what is known', () => {
  const { scans, readAt, share } = world(10 * MINUTE_MS);
  share(false);
  readAt(BEGAN_MS);
  scans.recordParked({ topic: 'delivery.meta.retry.5s', partition: 0 }, 'a', BEGAN_MS + MINUTE_MS, false);
  scans.released('a', BEGAN_MS + MINUTE_MS);
  expect(scans.look(BEGAN_MS + MINUTE_MS)).toBe(true);
});
