import { expect, test, vi } from 'vitest';
import { savedTable } from '#services/dashboard/src/pages/boards/saved_table.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

test('revenue is a row for each interval of each currency, with its date', () => {
  const interval = (orders: number) => ({ from: Date.UTC(2026, 4, 1, 12), orders, renewals: { orders: 1 } });
  const answer = {
    currencies: [
      { currency: 'EUR', digits: 2, orders: 3, intervals: [interval(3)], breakdown: [], other: null },
      { currency: 'JPY', digits: 0, orders: 1, intervals: [interval(1)], breakdown: [], other: null },
    ],
    ...{ more_currencies: 0, repeated: [{ order_id: 'a', times: 2 }], as_of: 7 },
  };
  expect(savedTable('revenue', { query: { interval: 'day' }, answer })).toEqual({
    columns: ['Currency', `From (${ZONE})`, 'Orders', 'Renewals orders'],
    rows: [
      ['EUR', '2026-05-01', 3, 1],
      ['JPY', '2026-05-01', 1, 1],
    ],
  });
});

test('visits are a row for each value of a breakdown, durations in seconds', () => {
  const answer = {
    visits: 9,
    values: [{ value: 'Email', visits: 5, duration_ms: 61_000 }],
    intervals: [],
    other: null,
  };
  expect(savedTable('visits', { query: { breakdown: { visit: 'channel' } }, answer })).toEqual({
    columns: ['Value', 'Visits', 'Duration (seconds)'],
    rows: [['Email', 5, 61]],
  });
});

test('what has no name above is told by its number, SQL by its own columns, and others as the API writes them', () => {
  const series = [{ persons: 4, active: [{ intervals: 1, persons: 4, persons_at_least: 4 }] }];
  expect(savedTable('stickiness', { query: {}, answer: { intervals: 7, series } })).toEqual({
    columns: ['Series number', 'Intervals', 'Persons', 'Persons at least'],
    rows: [[1, 1, 4, 4]],
  });
  const sql = { columns: [{ name: 'a', type: 'String' }], rows: [['x']] };
  expect(savedTable('sql', { query: {}, answer: sql })).toEqual({ columns: ['a'], rows: [['x']] });
  expect(savedTable('correlation', { query: {}, answer: { persons: 2 } }).columns).toEqual([
    'part',
    'number',
    'persons',
  ]);
});
