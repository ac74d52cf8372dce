import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { busy, costOf, rateAt, simulateMonth } from '#test/bench/sizing/model.ts';
import { COSTS, HEADROOM, rows, workloadOf } from '#test/bench/sizing/sizes.ts';

const PAGE = readFileSync(new URL('../../../docs/sizing.md', import.meta.url), 'utf8');
const PERFORMANCE = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');
const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

test('two costs of an event tell what a request costs, and what an event', () => {
  const { request, event } = costOf([2, 60], [20, 15]);
  expect([request / 2 + event, request / 20 + event]).toEqual([expect.closeTo(60), expect.closeTo(15)]);
});

test('the model says of the edge alone what was measured of it', () => {
  const measured = PERFORMANCE.split('\n').flatMap((line) => {
    const [, events, seconds] = /^\| (?:browsers|servers), ([\d.]+) events +\| ([\d.]+) /.exec(line) ?? [];
    return events === undefined ? [] : [[Number(events), Number(seconds)] as const];
  });
  expect(measured).toHaveLength(2);
  for (const [events, seconds] of measured) expect(busy(COSTS, 1e6, events).edge).toBeCloseTo(seconds);
});

test('a day has its mean and its busiest hour', () => {
  const rates = Array.from({ length: 24 }, (_, hour) => rateAt(hour, 0.6));
  expect(Math.max(...rates)).toBe(1);
  expect(rates.reduce((sum, rate) => sum + rate, 0) / 24).toBeCloseTo(0.6);
});

test('a month at 100,000 events/s keeps what its days say, and catches up behind an outage', () => {
  const workload = workloadOf(100_000);
  const month = simulateMonth(workload, HEADROOM);
  const day = 100_000 * 0.6 * 86_400;
  expect(month.events / (30 * day)).toBeCloseTo(1);
  for (const store of ['kafka', 'redis', 'clickhouse'] as const) {
    const { bytes, days, copies } = workload.kept[store];
    expect(month.bytes[store] / (day * bytes * days * copies)).toBeCloseTo(1);
  }
  const hours = [1.1, 1.5, HEADROOM].map((headroom) => simulateMonth(workload, headroom).behindHours);
  expect(hours).toEqual([5, 2, 1]);
});

test('the page has the sizes that the model says', () => {
  const lines = PAGE.split('\n').filter((line) => /^\| [\d,]+ /.test(line));
  expect(lines.map(cellsOf)).toEqual(rows());
});
