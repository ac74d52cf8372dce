import type { StubApi } from './stub_api.ts';

interface Asked {
  from: number;
  to: number;
  interval?: 'hour' | 'day' | 'week' | 'month';
  compare?: string;
  breakdown?: { visit?: string };
  series?: object[];
  field?: { property: string[] } | { column: string };
}

const HOUR_MS = 3_600_000;
const STEPS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS, month: 720 * HOUR_MS };

/** Answers of a shop with some traffic, and with the names that a test gives its pages. */
export function withTraffic(
  api: StubApi,
  names: readonly string[] = ['https://shop.example/', 'https://shop.example/a'],
  currencies: readonly string[] = ['EUR', 'USD'],
  moreCurrencies = 0,
): StubApi {
  return api
    .on('POST', /\/trends$/, (body) => trends(body as Asked))
    .on('POST', /\/revenue$/, (body) => revenue(body as Asked, currencies, moreCurrencies))
    .on('POST', /\/top$/, (body) => top(body as Asked, names))
    .on('POST', /\/visits$/, (body) => visits(body as Asked));
}

const startsOf = ({ from, to, interval = 'day' }: Asked): number[] => {
  const step = STEPS[interval];
  return Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);
};
const visitorsAt = (at: number, factor: number): number => Math.round(factor * (20 + 8 * Math.sin(at) + (at % 3)));

function trends(asked: Asked): object {
  const { to, compare, series = [] } = asked;
  const starts = startsOf(asked);
  const group = (factor: number): object => {
    const intervals = starts.map((start, at) => figures(start, visitorsAt(at, factor)));
    const sum = (of: 'events' | 'persons' | 'sum' | 'measured'): number =>
      intervals.reduce((all, one) => all + one[of], 0);
    return { events: sum('events'), persons: sum('persons'), sum: sum('sum'), measured: sum('measured'), intervals };
  };
  const compared = (factor: number): object => ({
    ...group(factor),
    ...(compare !== undefined && { before: group(factor * 0.9) }),
  });
  return {
    series: series.map((_, at) => ({ ...compared(at === 0 ? 60 : 4), breakdown: [], other: null })),
    formulas: [],
    as_of: to,
  };
}

function figures(from: number, persons: number): Record<'from' | 'events' | 'persons' | 'sum' | 'measured', number> {
  return { from, events: persons * 7, persons, sum: persons * 42.5, measured: persons * 42.5 };
}

/** A tenth is paid back, a fifth comes of renewals, and some orders come again. */
function revenue(asked: Asked, currencies: readonly string[], more_currencies: number): object {
  const starts = startsOf(asked);
  const payments = (orders: number): object => ({
    ...{ orders, persons: orders, gross: orders * 42.5, refunded: 1, refunds: orders * 4.25, net: orders * 38.25 },
    ...{ tax: orders * 7, shipping: orders * 3 },
  });
  const figuresOf = (orders: number): object => ({ ...payments(orders), renewals: payments(orders / 5) });
  const period = (factor: number): object => {
    const orders = starts.map((_, at) => visitorsAt(at, factor));
    const total = orders.reduce((all, one) => all + one, 0);
    return { ...figuresOf(total), intervals: starts.map((from, at) => ({ from, ...figuresOf(orders[at] ?? 0) })) };
  };
  return {
    currencies: currencies.map((currency, at) => ({
      ...{ currency, digits: 2, breakdown: [], other: null },
      ...{ ...period(30 / (1 + 2 * at)), before: period(27 / (1 + 2 * at)) },
    })),
    ...{ more_currencies, repeated_orders: 12, repeats: 17, differing_orders: 1, repeated: [] },
    ...{ without_amount: 0, refunds_without_order: 0, refunds_without_amount: 0, refunds_cut: 0, converted: 3 },
    as_of: asked.to,
  };
}

function top({ field, to }: Asked, names: readonly string[]): object {
  const of: Readonly<Record<string, readonly string[]>> = {
    $current_url: names,
    event: ['page_view', 'view_item', 'add_to_cart', 'purchase'],
  };
  const name = field === undefined ? '' : 'column' in field ? field.column : (field.property[0] ?? '');
  const values = of[name] ?? [];
  const counted = values.map((value, at) => ({ value, events: 12_345 >> at, persons: 10, sum: 0 }));
  return { values: counted, more_values: false, other: null, as_of: to };
}

/** Half of them bounce, and fewer of the time before, which has more. */
function visits(asked: Asked): object {
  const { breakdown, to } = asked;
  const of: Readonly<Record<string, readonly string[]>> = {
    channel: ['Direct', 'Organic Search', 'Email'],
    source: ['', 'google', 'news.example'],
    campaign: ['', 'autumn'],
  };
  const counted = (count: number): object => ({
    ...{ visits: count, visitors: count, bounces: count >> 1, page_views: 2 * count, conversions: count >> 3 },
    ...{ duration_ms: 61_000, engaged_ms: null, scroll_percent: null },
  });
  const values = (of[breakdown?.visit ?? ''] ?? []).map((value, at) => ({ value, ...counted(12_345 >> at) }));
  const total = breakdown === undefined ? { ...counted(25_000), bounces: 10_000 } : counted(20_000);
  const intervals = startsOf(asked).map((from, at) => ({ from, ...counted(visitorsAt(at, 60)) }));
  return { ...total, intervals, values, other: null, as_of: to };
}
