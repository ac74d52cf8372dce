import { expect, test } from 'vitest';
import { HOUR_MS, type HourRejections, rejectionCounts } from '#pipelines/ingestion_warnings/warnings.ts';

const DAY = 20_000 * 24;
const DAY_MS = 24 * HOUR_MS;
const from = DAY * HOUR_MS;
const MALFORMED = { kind: 'rejected', code: 'uuid_invalid' } as const;
const BOT = { kind: 'dropped', code: 'bot' } as const;

const hours: HourRejections[] = [
  { hour: DAY + 25, ...MALFORMED, count: 2 },
  { hour: DAY + 1, ...BOT, count: 5 },
  { hour: DAY + 1, ...MALFORMED, count: 1 },
  { hour: DAY - 1, ...BOT, count: 100 },
  { hour: DAY + 48, ...BOT, count: 100 },
];

test('what was not accepted by hour, and the most frequent first over the time that was asked for', () => {
  expect(rejectionCounts(hours, { from, to: from + 2 * DAY_MS, interval: 'hour' })).toEqual({
    totals: [
      { ...BOT, count: 5 },
      { ...MALFORMED, count: 3 },
    ],
    counts: [
      { at: from + HOUR_MS, ...BOT, count: 5 },
      { at: from + HOUR_MS, ...MALFORMED, count: 1 },
      { at: from + 25 * HOUR_MS, ...MALFORMED, count: 2 },
    ],
  });
});

test('days are those of UTC', () => {
  const { counts } = rejectionCounts(hours, { from: from - DAY_MS, to: from + 3 * DAY_MS, interval: 'day' });
  expect(counts.map(({ at, code, count }) => [(at - from) / DAY_MS, code, count])).toEqual([
    [-1, 'bot', 100],
    [0, 'bot', 5],
    [0, 'uuid_invalid', 1],
    [1, 'uuid_invalid', 2],
    [2, 'bot', 100],
  ]);
});

test('an hour of which a part is asked for counts as a whole, and others do not', () => {
  const inHour = { from: from + HOUR_MS + 1, to: from + HOUR_MS + 2, interval: 'hour' } as const;
  expect(rejectionCounts(hours, inHour).totals).toEqual([
    { ...BOT, count: 5 },
    { ...MALFORMED, count: 1 },
  ]);
  expect(rejectionCounts(hours, { from: from + 2 * HOUR_MS, to: from + HOUR_MS * 3, interval: 'hour' }).totals).toEqual(
    [],
  );
  expect(rejectionCounts(hours, { from: from + DAY_MS, to: from, interval: 'hour' })).toEqual({
    totals: [],
    counts: [],
  });
});
