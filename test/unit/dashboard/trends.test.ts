import { expect, test, vi } from 'vitest';
import {
  readTrends,
  startsOf,
  trendLines,
  trendsQuestion,
  trendTable,
} from '#services/dashboard/src/pages/trends/trends_view.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const value = { column: 'value' } as const;
const figures = (measured: number, values: number[]) => ({
  ...{ measured, events: 1, persons: 1, sum: 0 },
  intervals: values.map((one, at) => ({ from: at, measured: one, events: 1, persons: 1, sum: 0 })),
});

test('an address that anybody wrote asks for what of it can be shown', () => {
  for (const given of [
    null,
    7,
    { series: [] },
    { series: 'x', interval: 'year', formulas: [3], breakdown: { field: 3 } },
  ]) {
    const { series, formulas, breakdown } = readTrends(given);
    expect([series, formulas, breakdown]).toEqual([[{ events: ['page_view'] }], undefined, undefined]);
  }
});

test('a series that lacks its field counts events, and a sum is a measure', () => {
  const draft = readTrends({ series: [{ measure: { of: 'p90' } }, { sum: value }], formulas: ['  '] });
  expect(trendsQuestion(draft, 'day', { time_zone: 'Europe/Berlin', week_start: 'sunday' })).toEqual({
    series: [{}, { measure: { of: 'sum', field: value } }],
    ...{ interval: 'day', time_zone: 'Europe/Berlin', week_start: 'sunday', empty_intervals: 'zeros' },
  });
});

test('of several series each value says whose it is, and one without values is a line of its own', () => {
  const range = { from: 0, to: 2, interval: 'day' } as const;
  const series = [{ events: ['a'] }, { events: ['b'] }];
  const answer = {
    series: [
      { ...figures(9, [4, 5]), breakdown: [{ value: 'EUR', parts: ['EUR'], ...figures(9, [4, 5]) }], other: null },
      { ...figures(0, [0, 0]), breakdown: [], other: null },
    ],
    formulas: [],
  };
  const lines = trendLines({ ...range, series, breakdown: { fields: [value] } }, answer);
  expect(lines.map(({ name, total }) => [name, total])).toEqual([
    ['A a: EUR', 9],
    ['B b', 0],
  ]);
});

test('lines are of values where there is a breakdown, and tell whose actors they are', () => {
  const query = {
    from: 0,
    to: 2,
    interval: 'day',
    series: [{ events: ['a'] }],
    breakdown: { fields: [value] },
  } as const;
  const whole = figures(9, [4, 5]);
  const answer = {
    series: [
      {
        ...whole,
        breakdown: [{ value: '', parts: [''], ...figures(6, [3, 3]), before: figures(2, [1, 1]) }],
        other: { values: 4, ...figures(3, [1, 2]) },
      },
    ],
    formulas: [],
  };
  const lines = trendLines({ ...query, series: [{ events: ['a'] }], breakdown: { fields: [value] } }, answer);
  expect(startsOf(answer)).toEqual([0, 1]);
  expect(lines).toEqual([
    { name: '(none)', total: 6, before: 2, values: [3, 3], valuesBefore: [1, 1], part: { series: 1, parts: [''] } },
    {
      name: '4 others',
      total: 3,
      before: null,
      values: [1, 2],
      valuesBefore: null,
      part: { series: 1, other: true },
    },
  ]);
});

test('others that had events in the compared time alone are not told as none', () => {
  const query = { from: 0, to: 2, interval: 'day' as const, series: [{}], breakdown: { fields: [value] } };
  const other = { values: 0, ...figures(0, [0, 0]), before: figures(2, [1, 1]) };
  const answer = { series: [{ ...figures(0, [0, 0]), breakdown: [], other }], formulas: [] };
  expect(trendLines(query, answer).map(({ name, before }) => ({ name, before }))).toEqual([
    { name: 'all others', before: 2 },
  ]);
});

test('formulas are drawn in place of what they reckon with, averages where they roll', () => {
  const query = { from: 0, to: 2, interval: 'day' as const, series: [{}, {}], formulas: ['A / B'], rolling: 2 };
  const series = [0, 1].map(() => ({ ...figures(1, [1, 1]), breakdown: [], other: null }));
  const points = [
    { from: 0, measured: 1, rolling: 5 },
    { from: 1, measured: null, rolling: null },
  ];
  const formulas = [{ formula: 'A / B', measured: 3, intervals: points, breakdown: [], other: null }];
  expect(trendLines(query, { series, formulas })).toEqual([
    { name: 'A / B', total: 3, before: null, values: [5, null], valuesBefore: null, part: null },
  ]);
});

test('a series is called by what it measures, and of which events', () => {
  const filters = [{ field: { column: 'country' as const }, is: 'equal' as const, to: ['DE'] }];
  const measure = { of: 'sum' as const, field: value };
  const query = { from: 0, to: 2, interval: 'day' as const, series: [{ events: ['purchase'], measure, filters }] };
  const [line] = trendLines(query, { series: [{ ...figures(1, [1, 1]), breakdown: [], other: null }], formulas: [] });
  expect(line?.name).toBe('purchase, sum of Value where Country as sent is DE');
});

test('as a table, an interval is a row with its day, and each line a column', () => {
  const [first, second] = [Date.UTC(2026, 9, 24, 22), Date.UTC(2026, 9, 25, 23)];
  const at = (from: number, measured: number) => ({ from, measured, events: 1, persons: 1, sum: 0 });
  const one = (values: [number, number], before: [number, number]) => ({
    ...figures(9, []),
    intervals: [at(first, values[0]), at(second, values[1])],
    before: { ...figures(2, []), intervals: [at(0, before[0]), at(1, before[1])] },
    breakdown: [],
    other: null,
  });
  const series = [{ events: ['a'] }, { events: ['b'], measure: { of: 'persons' } as const }];
  const range = { from: first, to: second + 86_400_000, interval: 'day', time_zone: 'Europe/Berlin' } as const;
  const answer = { series: [one([4, 5], [1, 1]), one([2, 0], [0, 3])], formulas: [] };
  expect(trendTable({ query: { ...range, series }, answer })).toEqual({
    columns: ['Day (Europe/Berlin)', 'A a', 'A a, previous period', 'B b, people', 'B b, people, previous period'],
    rows: [
      ['2026-10-25', 4, 1, 2, 0],
      ['2026-10-26', 5, 1, 0, 3],
    ],
  });
  const hours = trendTable({ query: { ...range, interval: 'hour', series: [{ events: ['a'] }] }, answer });
  expect(hours.rows.map(([when]) => when)).toEqual(['2026-10-25 00:00', '2026-10-26 00:00']);
});
