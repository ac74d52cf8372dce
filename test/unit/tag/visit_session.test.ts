import { expect, test } from 'vitest';
import { sessionAt, sessionOf, uuid7 } from '#services/tag/src/visitor.ts';

const NOW_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const begun = sessionAt('', NOW_MS, uuid7);

test('a session goes on for thirty minutes after it was last seen', () => {
  const next = sessionAt(begun, NOW_MS + 30 * MINUTE_MS - 1, uuid7);
  expect(sessionOf(next)).toBe(sessionOf(begun));
  expect(sessionOf(sessionAt(begun, NOW_MS + 30 * MINUTE_MS, uuid7))).not.toBe(sessionOf(begun));
});

test('a session that was last seen by a clock half an hour ahead does not go on until then', () => {
  const ahead = sessionAt('', NOW_MS + 3 * 60 * MINUTE_MS, uuid7);
  expect(sessionOf(sessionAt(ahead, NOW_MS, uuid7))).not.toBe(sessionOf(ahead));
  expect(sessionOf(sessionAt(begun, NOW_MS - MINUTE_MS, uuid7))).toBe(sessionOf(begun));
});

test('each event moves the end of a session', () => {
  const seen = sessionAt(begun, NOW_MS + 20 * MINUTE_MS, uuid7);
  expect(sessionOf(sessionAt(seen, NOW_MS + 45 * MINUTE_MS, uuid7))).toBe(sessionOf(begun));
});

test('a session ends after a day however busy it is', () => {
  let kept = begun;
  let minutes = 0;
  while (sessionOf(kept) === sessionOf(begun)) {
    minutes += 20;
    kept = sessionAt(kept, NOW_MS + minutes * MINUTE_MS, uuid7);
  }
  expect(minutes).toBe(24 * 60);
});

test.for(['', 'nonsense', `${uuid7(NOW_MS)}`, '.kf0000'])('a cookie that says %j begins a new session', (kept) => {
  const id = uuid7(NOW_MS);
  expect(sessionOf(sessionAt(kept, NOW_MS, () => id))).toBe(id);
});
