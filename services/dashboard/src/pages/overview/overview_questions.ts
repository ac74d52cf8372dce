import type { AddressPart } from '#pipelines/analytics/filters.ts';
import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import type { RevenueQuery } from '#pipelines/analytics/revenue/query.ts';
import type { TopAnswer, TopQuery } from '#pipelines/analytics/top.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { VisitsAnswer, VisitsQuery } from '#pipelines/analytics/visits/question.ts';
import { calendarOf } from '#pipelines/settings/calendar.ts';
import type { VisitValue } from '#pipelines/visits/arrival.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { money, number, queryCalendar } from '../../format.ts';
import { type Period, periodBefore } from '../../period.ts';

/** A period ends now: what is shown is asked again so often. */
export const EVERY_MS = 60_000;

/** What counts as a conversion of every site; those that its event definitions name are added. */
const CONVERSION_EVENTS = ['purchase', 'generate_lead', 'sign_up', 'subscribe', 'start_trial'];
const EVENTS_MAX = 50;
const CURRENCIES_MAX = 10;
const NOW_MS = 5 * 60_000;
const VALUES_MAX = 200;
const VALUES_SHOWN = 10;
/** A question may have so many conditions on persons. */
const CAMPAIGNS_MAX = 5;

export function conversionsOf(site: SiteItem | undefined): string[] {
  const defined = (site?.event_definitions ?? []).filter(
    ({ enabled, conversion_event }) => enabled && conversion_event !== '',
  );
  return [...new Set([...CONVERSION_EVENTS, ...defined.map(({ name }) => name)])].slice(0, EVENTS_MAX);
}

export function countsQuestion({ from, to, interval }: Period, conversions: string[]): TrendsQuery {
  const common = { from, to, interval, ...queryCalendar(), compare: 'previous' } as const;
  return { ...common, series: [{}, { events: conversions }] };
}

/** How many conversions there were of each event, as the trends page has a question. */
export const conversionTrends = (conversions: readonly string[]): object => ({
  series: [{ events: conversions }],
  breakdown: { fields: [{ column: 'event' }], limit: VALUES_SHOWN },
});

export const revenueQuestion = ({ from, to, interval }: Period): RevenueQuery => ({
  ...{ from, to, interval, ...queryCalendar(), compare: 'previous' },
});

/**
 * What people bought by the campaign that they came by first, as the trends page has a question. Amounts of different currencies
 * are no sum, so that each has a line of its own.
 */
export function campaignRevenue(campaigns: readonly string[]): object {
  const first = { person: { property: ['utm_campaign'] }, seen: 'first' };
  const measure = { of: 'sum', field: { column: 'value' } };
  const series = campaigns.slice(0, CAMPAIGNS_MAX).map((name) => ({
    ...{ events: ['purchase'], measure },
    // Visits have campaigns in small letters, however links were written.
    filters: [{ field: first, is: 'matching', to: `(?i)^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$` }],
  }));
  return { series, breakdown: { fields: [{ column: 'currency' }], limit: CURRENCIES_MAX } };
}

export const nowQuestion = (nowMs: number): TrendsQuery => ({
  from: nowMs - NOW_MS,
  to: nowMs,
  interval: 'hour',
  series: [{}],
  fresh: true,
});

const DAY_MS = 86_400_000;

export const dayQuestion = (nowMs: number): TrendsQuery => ({
  from: nowMs - DAY_MS,
  to: nowMs,
  interval: 'day',
  series: [{}],
});

export interface ViewsBy {
  property: string;
  /** The part of it, where it is an address. */
  part?: AddressPart;
  /** Of events without any of these alone, as other senders name it otherwise. */
  unlessSet?: readonly string[];
}

export function viewsQuestion({ from, to }: Period, { property, part, unlessSet = [] }: ViewsBy): TopQuery {
  const field = { property: [property], ...(part === undefined ? {} : { part }) };
  const common = { from, to, events: ['page_view'], field, limit: VALUES_MAX };
  if (unlessSet.length === 0) return common;
  return { ...common, filters: unlessSet.map((name) => ({ field: { property: [name] }, is: 'not_set' as const })) };
}

/** Visits by interval, and by what is told of how they came. */
export const visitsQuestion = (
  { from, to, interval }: Period,
  visit: VisitValue,
  conversions: string[],
): VisitsQuery => ({
  ...{ from, to, interval, ...queryCalendar(), conversions: { events: conversions } },
  breakdown: { visit, limit: VALUES_SHOWN },
});

/** Visits of the time before, by interval. */
export function visitsBeforeQuestion(period: Period, conversions: string[]): VisitsQuery {
  const calendar = queryCalendar();
  const times = periodBefore(period, calendarOf(calendar));
  return { ...times, interval: period.interval, ...calendar, conversions: { events: conversions } };
}

/** Of visits that came by nothing that is known. */
export const DIRECT = 'Direct / none';

/** Visits by value, the most first. Of campaigns those that have none are left out, which are no campaign. */
export const visitsBy = ({ values }: VisitsAnswer, visit: VisitValue): Ranked[] =>
  values
    .filter(({ value }) => value !== '' || visit !== 'campaign')
    .map((one) => ({ name: one.value || DIRECT, count: one.visits, bounced: bouncedOf(one) }));

const bouncedOf = ({ visits, bounces }: Pick<VisitsAnswer, 'visits' | 'bounces'>): number | null =>
  visits === 0 ? null : bounces / visits;

/** A figure of the overview: over the whole period, by interval, and of the time before. */
export interface Figure {
  name: string;
  /** Null where it is not known. */
  total: number | null;
  before: number | null;
  /** Null in an interval of which it cannot be said. */
  values: readonly (number | null)[];
  valuesBefore: readonly (number | null)[];
  /** Of an amount of money; empty where its events name none. */
  currency: string | null;
  /** What else its numbers are than a count or an amount. */
  unit?: 'share' | 'seconds';
  /** Whether less of it is better. */
  isBad?: true;
  /** What it is made of, in words. */
  note?: string;
}

export const CONVERSIONS = 'Conversions';

/** A figure of which nothing is known yet, or that there is none of. */
export const noFigure = (name: string): Figure => ({
  ...{ name, total: null, before: null, values: [], valuesBefore: [], currency: null },
});

type Group = Pick<TrendsAnswer['series'][number], 'events' | 'persons' | 'intervals' | 'before'>;

/** Visitors, events and conversions of the answer to `countsQuestion`. */
export function countFigures(answer: TrendsAnswer): Figure[] {
  const [all, conversions] = answer.series;
  return [
    ...(all === undefined ? [] : [figureOf('Visitors', all, 'persons'), figureOf('Events', all, 'events')]),
    ...(conversions === undefined ? [] : [figureOf(CONVERSIONS, conversions, 'events')]),
  ];
}

/** Visits of a period, and of the one before. */
export interface VisitsCompared {
  now: VisitsAnswer;
  before: VisitsAnswer;
}

/**
 * How many visits there were, how many of them bounced, and how long they were.
 *
 * @param counts Whose intervals the visits are put into, as an answer names only those in which any began.
 */
export function visitFigures({ now, before }: VisitsCompared, counts: TrendsAnswer | null): Figure[] {
  const [all] = counts?.series ?? [];
  const course = (answer: VisitsAnswer, intervals: readonly { from: number }[] = []) => {
    const known = new Map(answer.intervals.map((one) => [one.from, one]));
    return intervals.map(({ from }) => known.get(from) ?? NO_VISITS);
  };
  const [values, valuesBefore] = [course(now, all?.intervals), course(before, all?.before?.intervals)];
  const figure = (name: string, of: (one: VisitFigures) => number | null): Figure => ({
    ...{ name, total: of(now), before: of(before), values: values.map(of), valuesBefore: valuesBefore.map(of) },
    currency: null,
  });
  return [
    figure('Visits', ({ visits }) => visits),
    { ...figure('Bounce rate', bouncedOf), unit: 'share', isBad: true, note: BOUNCE_NOTE },
    { ...figure('Visit duration', ({ duration_ms: ms }) => (ms === null ? null : ms / 1_000)), unit: 'seconds' },
  ];
}

type VisitFigures = Pick<VisitsAnswer, 'visits' | 'bounces' | 'duration_ms'>;
const NO_VISITS: VisitFigures = { visits: 0, bounces: 0, duration_ms: null };
const BOUNCE_NOTE = 'one page, under 10 seconds, no conversion';

type Revenue = RevenueAnswer['currencies'][number];
type Payments = Revenue['renewals'];

/** Orders and renewals together: what of the first the answer has without them. */
const both = (of: Payments & { renewals: Payments }, name: 'orders' | 'gross' | 'refunds' | 'net'): number =>
  of[name] + of.renewals[name];

/**
 * What was left of payments after refunds, by currency; then how many there were. Each order is counted once, however often it was
 * sent. A zero where nothing was paid.
 *
 * @param siteCurrency Into which others are converted where there are rates; null: none is.
 */
export function revenueFigures(answer: RevenueAnswer, siteCurrency: string | null = null): Figure[] {
  const { currencies, more_currencies, repeated_orders, repeats, converted } = answer;
  const earned = currencies.map((one): Figure => {
    const [gross, refunds] = (['gross', 'refunds'] as const).map((name) => money(both(one, name), one.currency));
    const renewals = one.renewals.net === 0 ? '' : `, of it ${money(one.renewals.net, one.currency)} by renewals`;
    return {
      ...paymentsFigure([one], one.currency === '' ? 'Revenue without a currency' : `Revenue ${one.currency}`, 'net'),
      currency: one.currency,
      note: `${gross} paid, ${refunds} paid back${renewals}${convertedNote(one.currency, siteCurrency, converted > 0)}`,
    };
  });
  const again =
    repeats === 0 ? [] : [`${number(repeated_orders)} sent again, ${number(repeats)} times: each is counted once`];
  const more = more_currencies === 0 ? [] : [`without those of ${number(more_currencies)} more currencies`];
  const orders = { ...paymentsFigure(currencies, 'Orders', 'orders'), note: [...more, ...again].join('; ') };
  if (earned.length === 0) return [{ ...noFigure('Revenue'), total: 0, before: 0 }, orders];
  return [...earned, orders];
}

function convertedNote(currency: string, into: string | null, hasConverted: boolean): string {
  if (into === null) return '';
  if (currency !== into) return `, no rate to ${into}`;
  return hasConverted ? ', other currencies converted' : '';
}

/** Payments of several currencies as one figure. */
function paymentsFigure(currencies: readonly Revenue[], name: string, of: 'orders' | 'net'): Figure {
  const sum = (some: readonly (Payments & { renewals: Payments })[]): number =>
    some.reduce((all, one) => all + both(one, of), 0);
  const before = currencies.flatMap((one) => one.before ?? []);
  const byInterval = (some: readonly Pick<Revenue, 'intervals'>[]): number[] =>
    (some[0]?.intervals ?? []).map((_, at) => sum(some.flatMap(({ intervals }) => intervals[at] ?? [])));
  return {
    ...{ name, total: sum(currencies), before: sum(before) },
    ...{ values: byInterval(currencies), valuesBefore: byInterval(before), currency: null },
  };
}

function figureOf(name: string, group: Group, of: 'events' | 'persons'): Figure {
  const { before, intervals } = group;
  return {
    name,
    total: group[of],
    before: before === undefined ? null : before[of],
    values: intervals.map((one) => one[of]),
    valuesBefore: before?.intervals.map((one) => one[of]) ?? [],
    currency: null,
  };
}

export interface Ranked {
  name: string;
  count: number;
  /** Which part of so many visits bounced. */
  bounced?: number | null;
}

/** Views by what a function makes of each value, the most first; null leaves a value out. */
export function ranked(answers: readonly TopAnswer[], nameOf: (value: string) => string | null): Ranked[] {
  const views = new Map<string, number>();
  for (const { value, events } of answers.flatMap(({ values }) => values)) {
    const name = nameOf(value);
    if (name !== null) views.set(name, (views.get(name) ?? 0) + events);
  }
  return [...views].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

/** Host and path of the address of a page; what is no address stays as it is. */
export function pageName(address: string): string | null {
  if (address === '') return null;
  const url = URL.parse(address);
  return url === null ? address : url.host + url.pathname;
}
