import { expect, test, vi } from 'vitest';
import { PERSON_CONDITIONS_MAX } from '#pipelines/analytics/filters.ts';
import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import {
  campaignRevenue,
  countFigures,
  DIRECT,
  pageName,
  ranked,
  revenueFigures,
  viewsQuestion,
  visitFigures,
  visitsBy,
  visitsQuestion,
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
    { name: 'a.example/x', count: 5 },
    { name: 'a.example/y', count: 4 },
    { name: 'no address', count: 1 },
  ]);
});

test('of addresses the part that tells them apart is asked for, by a later name where the earlier are not set', () => {
  const period = { from: 1, to: 2 } as Period;
  const unlessSet = ['$current_url', 'page_location'];
  expect(viewsQuestion(period, { property: 'url', part: 'page', unlessSet })).toMatchObject({
    field: { property: ['url'], part: 'page' },
    filters: [
      { field: { property: ['$current_url'] }, is: 'not_set' },
      { field: { property: ['page_location'] }, is: 'not_set' },
    ],
  });
  expect(viewsQuestion(period, { property: 'utm_campaign' }).field).toEqual({ property: ['utm_campaign'] });
});

test('visits are shown by what is told of them, and those of no campaign are of no campaign', () => {
  const period = { from: 1, to: 2 } as Period;
  expect(visitsQuestion(period, 'source', ['purchase'])).toMatchObject({ breakdown: { visit: 'source' } });
  const figures = { visitors: 1, bounces: 0, page_views: 1, conversions: 0 };
  const measured = { duration_ms: null, engaged_ms: null, scroll_percent: null };
  const values = [
    { value: '', visits: 7, ...figures, ...measured },
    { value: 'spring', visits: 5, ...figures, ...measured },
  ];
  const answer = { visits: 12, ...figures, ...measured, intervals: [], values, other: null };
  expect(visitsBy(answer, 'source')).toEqual([
    { name: DIRECT, count: 7, bounced: 0 },
    { name: 'spring', count: 5, bounced: 0 },
  ]);
  expect(visitsBy(answer, 'campaign')).toEqual([{ name: 'spring', count: 5, bounced: 0 }]);
});

test('visits, their bounces and how long they were stand in the intervals of the counts, also where there are none', () => {
  const of = (visits: number, bounces: number, duration_ms: number | null) => ({
    ...{ visits, visitors: visits, bounces, page_views: visits, conversions: 0, duration_ms },
    ...{ engaged_ms: null, scroll_percent: null },
  });
  const visitsOf = (all: ReturnType<typeof of>, intervals: [number, ReturnType<typeof of>][]) => ({
    ...{ ...all, values: [], other: null },
    intervals: intervals.map(([from, one]) => ({ from, ...one })),
  });
  const now = visitsOf(of(4, 1, 30_000), [[200, of(4, 1, 30_000)]]);
  const before = visitsOf(of(0, 0, null), []);
  const times = (...starts: number[]) => ({ intervals: starts.map((from) => ({ from })) });
  const counts = { series: [{ ...times(100, 200), before: times(0, 50) }], formulas: [] } as unknown as TrendsAnswer;
  expect(visitFigures({ now, before }, counts)).toEqual([
    { name: 'Visits', total: 4, before: 0, values: [0, 4], valuesBefore: [0, 0], currency: null },
    {
      ...{ name: 'Bounce rate', total: 0.25, before: null, values: [null, 0.25], valuesBefore: [null, null] },
      ...{ currency: null, unit: 'share', isBad: true, note: 'one page, under 10 seconds, no conversion' },
    },
    {
      ...{ name: 'Visit duration', total: 30, before: null, values: [null, 30], valuesBefore: [null, null] },
      ...{ currency: null, unit: 'seconds' },
    },
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

const paid = (orders: number, gross: number, refunds = 0) => ({
  ...{ orders, persons: orders, gross, refunded: 0, refunds, net: gross - refunds, tax: 0, shipping: 0 },
});
const currencyOf = (currency: string, orders: number, gross: number, refunds: number, renewed = 0) => {
  const of = { ...paid(orders, gross, refunds), renewals: paid(Math.sign(renewed), renewed) };
  const before = { ...paid(1, 4), renewals: paid(0, 0) };
  return {
    ...{ currency, digits: 2, ...of, intervals: [{ from: 0, ...of }] },
    before: { ...before, intervals: [{ from: 0, ...before }] },
  };
};
const revenueOf = (currencies: object[], repeated_orders = 0, repeats = 0, more_currencies = 0, converted = 0) =>
  ({ currencies, repeated_orders, repeats, more_currencies, converted }) as unknown as RevenueAnswer;

test('revenue is what was left of payments, never added over currencies; orders are, each once', () => {
  const currencies = [currencyOf('EUR', 3, 30, 2.5, 10), currencyOf('', 1, 9.5, 0)];
  expect(revenueFigures(revenueOf(currencies, 2, 5))).toEqual([
    {
      ...{ name: 'Revenue EUR', total: 37.5, before: 4, values: [37.5], valuesBefore: [4], currency: 'EUR' },
      note: '€40.00 paid, €2.50 paid back, of it €10.00 by renewals',
    },
    {
      ...{ name: 'Revenue without a currency', total: 9.5, before: 4, values: [9.5], valuesBefore: [4], currency: '' },
      note: '9.5 paid, 0 paid back',
    },
    {
      ...{ name: 'Orders', total: 5, before: 2, values: [5], valuesBefore: [2], currency: null },
      note: '2 sent again, 5 times: each is counted once',
    },
  ]);
});

test('figures say what was converted into the currency of the site, and what is not among them', () => {
  const currencies = [currencyOf('EUR', 3, 30, 2.5), currencyOf('QAQ', 1, 9.5, 0)];
  expect(revenueFigures(revenueOf(currencies, 2, 5, 1_200, 1), 'EUR').map(({ note }) => note)).toEqual([
    '€30.00 paid, €2.50 paid back, other currencies converted',
    'QAQ\u00a09.50 paid, QAQ\u00a00.00 paid back, no rate to EUR',
    'without those of 1,200 more currencies; 2 sent again, 5 times: each is counted once',
  ]);
  const [alone] = revenueFigures(revenueOf([currencyOf('EUR', 3, 30, 2.5)]), 'EUR');
  expect(alone?.note).toBe('€30.00 paid, €2.50 paid back');
});

test('nothing was earned where nothing was paid', () => {
  expect(revenueFigures(revenueOf([]))).toMatchObject([
    { name: 'Revenue', total: 0, before: 0 },
    { name: 'Orders', total: 0, before: 0 },
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
    filters: [{ field: { person: { property: ['utm_campaign'] }, seen: 'first' }, is: 'matching', to: '(?i)^a$' }],
  });
});
