import { expect, test, vi } from 'vitest';
import { PERSON_CONDITIONS_MAX } from '#pipelines/analytics/filters.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import {
  campaignRevenue,
  countFigures,
  DIRECT,
  directQuestion,
  pageName,
  ranked,
  revenueFigures,
  sourceName,
  viewsQuestion,
} from '#services/dashboard/src/pages/overview/overview_questions.ts';
import { readTrends } from '#services/dashboard/src/pages/trends/trends_view.tsx';
import type { Period } from '#services/dashboard/src/period.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const answer = (counts: Record<string, number>) => ({
  values: Object.entries(counts).map(([value, events]) => ({ value, events, persons: 1, sum: 0 })),
  ...{ more_values: false, other: null },
});

test('pages count whatever their scheme, the most first; what has none is left out', () => {
  const views = answer({ 'https://a.example/x': 3, 'https://a.example/y': 4, '': 9, 'no address': 1 });
  expect(ranked([views, answer({ 'http://a.example/x': 2 })], pageName)).toEqual([
    { name: 'a.example/x', views: 5 },
    { name: 'a.example/y', views: 4 },
    { name: 'no address', views: 1 },
  ]);
});

test('of addresses the part that tells them apart is asked for, by the second name where the first is not set', () => {
  const period = { from: 1, to: 2 } as Period;
  expect(viewsQuestion(period, { property: 'page_location', part: 'page', unlessSet: '$current_url' })).toMatchObject({
    field: { property: ['page_location'], part: 'page' },
    filters: [{ field: { property: ['$current_url'] }, is: 'not_set' }],
  });
  expect(viewsQuestion(period, { property: 'utm_campaign' }).field).toEqual({ property: ['utm_campaign'] });
});

test('sources are hosts of others, and views that nothing led to', () => {
  const period = { from: 1, to: 2 } as Period;
  const field = { property: ['$referrer'], part: 'other_host' } as const;
  expect(viewsQuestion(period, { property: '$referrer', part: 'other_host' }).filters).toEqual([{ field, is: 'set' }]);
  expect(directQuestion(period).filters).toHaveLength(2);
  const views = answer({ 'search.example': 5, 'www.shop.example': 9, 'shop.example': 2, 'othershop.example': 1 });
  expect(ranked([views, answer({ '': 6, $direct: 1 })], sourceName(['shop.example']))).toEqual([
    { name: DIRECT, views: 7 },
    { name: 'search.example', views: 5 },
    { name: 'othershop.example', views: 1 },
  ]);
});

const group = (persons: number, measured: number) => {
  const figures = { events: persons * 2, persons, sum: measured, measured };
  return { ...figures, intervals: [{ from: 0, ...figures }] };
};
const answerOf = (...series: object[]) => ({ series, formulas: [] }) as unknown as TrendsAnswer;

test('figures have their course and that of the time before', () => {
  const series = { ...group(3, 0), before: group(2, 0), breakdown: [], other: null };
  expect(countFigures(answerOf(series, series))).toMatchObject([
    { name: 'Visitors', total: 3, before: 2, values: [3], valuesBefore: [2] },
    { name: 'Events', total: 6, before: 4, values: [6], valuesBefore: [4] },
    { name: 'Conversions', total: 6, before: 4 },
  ]);
});

test('revenue is never added over currencies, and nothing where nothing was bought', () => {
  const breakdown = ['EUR', ''].map((value) => ({ value, parts: [value], ...group(1, 9.5), before: group(1, 4) }));
  expect(revenueFigures(answerOf({ ...group(1, 19), breakdown, other: null }))).toMatchObject([
    { name: 'Revenue EUR', total: 9.5, before: 4, values: [9.5], currency: 'EUR' },
    { name: 'Revenue without a currency', total: 9.5, currency: '' },
  ]);
  expect(revenueFigures(answerOf({ ...group(0, 0), breakdown: [], other: null }))).toMatchObject([
    { name: 'Revenue', total: 0 },
  ]);
});

test('revenue is compared of as many campaigns as a question may have conditions on persons, each currency apart', () => {
  const asked = campaignRevenue(['a', 'b', 'c', 'd', 'e', 'f']);
  const { series, breakdown } = readTrends(asked);
  expect(breakdown?.fields).toEqual([{ column: 'currency' }]);
  expect(series).toHaveLength(PERSON_CONDITIONS_MAX);
  expect(series[0]).toEqual({
    events: ['purchase'],
    measure: { of: 'sum', field: { column: 'value' } },
    filters: [{ field: { person: { property: ['utm_campaign'] }, seen: 'first' }, is: 'equal', to: ['a'] }],
  });
});
