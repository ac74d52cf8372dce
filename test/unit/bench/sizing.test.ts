import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  busyAt,
  bytesOfIds,
  costsOf,
  deviation,
  idBytesOf,
  idsMax,
  type OfParts,
  PARTS,
  rateAt,
  simulateMonth,
} from '#test/bench/sizing/model.ts';
import { compared, comparedRows, HEADROOM, modelOf, readMeasured, rows, workloadOf } from '#test/bench/sizing/sizes.ts';

const PAGE = readFileSync(new URL('../../../docs/sizing.md', import.meta.url), 'utf8');
const MEASURED = readMeasured();
const MADE = modelOf(MEASURED);
const DEVIATION_MAX = 0.2;
const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const all = (value: number): OfParts => Object.fromEntries(PARTS.map((part) => [part, value])) as OfParts;

test('a low and a high rate tell what a part costs whatever the rate is, and what an event does', () => {
  const costs = costsOf({ rate: 100, processors: all(0.06) }, { rate: 1_100, processors: all(0.16) });
  expect(costs.edge).toEqual({ event: expect.closeTo(0.0001), idle: expect.closeTo(0.05) });
  expect(busyAt(costs, 10_000).kafka).toBeCloseTo(1.05);
});

test('ids in few and in many buckets tell what an id takes, and what a bucket does', () => {
  const bytes = { packed: 30, bucket: 120, unpacked: 160 };
  const fill = (ids: number, bucketChars: number) => ({ ids, bucketChars, bytes: bytesOfIds(bytes, ids, bucketChars) });
  expect(idBytesOf(fill(1e6, 2), fill(1e6, 4))).toEqual({
    packed: expect.closeTo(bytes.packed),
    bucket: expect.closeTo(bytes.bucket),
  });
  // Of a few ids each has a bucket of its own; of very many a bucket is no longer packed.
  expect(bytesOfIds(bytes, 1_000, 4) / 1_000).toBeCloseTo(150, 1);
  expect(bytesOfIds(bytes, 64 ** 3 * 600, 3) / (64 ** 3 * 600)).toBeCloseTo(160.2, 1);
});

test('a day has its mean and its busiest hour', () => {
  const rates = Array.from({ length: 24 }, (_, hour) => rateAt(hour, 0.6));
  expect(Math.max(...rates)).toBe(1);
  expect(rates.reduce((sum, rate) => sum + rate, 0) / 24).toBeCloseTo(0.6);
});

test('a month at 100,000 events/s keeps what its days say, and catches up behind an outage', () => {
  const workload = workloadOf(MADE, 100_000);
  const month = simulateMonth(workload, HEADROOM);
  const day = 100_000 * 0.6 * 86_400;
  expect(month.events / (30 * day)).toBeCloseTo(1);
  expect(month.ids / (9 * day)).toBeCloseTo(1);
  for (const store of ['kafka', 'clickhouse'] as const) {
    const { bytes, days, copies } = workload[store];
    expect(month.bytes[store] / (day * bytes * days * copies)).toBeCloseTo(1);
  }
  const hours = [1.1, 1.5, HEADROOM].map((headroom) => simulateMonth(workload, headroom).behindHours);
  expect(hours).toEqual([5, 2, 1]);
});

test('buckets stay packed up to the rates that the page says of what they are named by', () => {
  const [, four = '', five = ''] = /`4` up to ([\d,]+)[\s\S]+? up to ([\d,]+),/.exec(PAGE) ?? [];
  for (const [bucketChars, most] of [
    [4, four],
    [5, five],
  ] as const) {
    const month = simulateMonth(workloadOf(MADE, Number(most.replaceAll(',', ''))), HEADROOM);
    expect(month.bucketChars).toBe(bucketChars);
    expect(month.ids / idsMax(bucketChars)).toBeGreaterThan(0.9);
    expect(month.ids / idsMax(bucketChars)).toBeLessThan(1);
  }
});

test('what was measured where the model was not made is within a fifth of what it says', () => {
  const points = compared(MEASURED);
  expect(points).toHaveLength(6);
  const far = points.filter(({ predicted, measured }) => !(Math.abs(deviation(predicted, measured)) <= DEVIATION_MAX));
  expect(far).toEqual([]);
});

test('the page has the sizes that the model says, and what it was compared with', () => {
  const lines = PAGE.split('\n').filter((line) => /^\| [\d,]+ /.test(line));
  expect(lines.map(cellsOf)).toEqual(rows(MEASURED));
  const compares = PAGE.split('\n').filter((line) => /^\| .* (?:at|million)/.test(line));
  expect(compares.map(cellsOf)).toEqual(comparedRows(MEASURED));
});
