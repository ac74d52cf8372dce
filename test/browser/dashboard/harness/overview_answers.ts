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
): StubApi {
  return api
    .on('POST', /\/trends$/, (body) => trends(body as Asked, currencies))
    .on('POST', /\/top$/, (body) => top(body as Asked, names))
    .on('POST', /\/visits$/, (body) => visits(body as Asked));
}

function trends(
  { from, to, interval = 'day', compare, breakdown, series = [] }: Asked,
  names: readonly string[],
): object {
  const step = STEPS[interval];
  const starts = Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);
  const group = (factor: number): object => {
    const intervals = starts.map((start, at) =>
      figures(start, Math.round(factor * (20 + 8 * Math.sin(at) + (at % 3)))),
    );
    const sum = (of: 'events' | 'persons' | 'sum' | 'measured'): number =>
      intervals.reduce((all, one) => all + one[of], 0);
    return { events: sum('events'), persons: sum('persons'), sum: sum('sum'), measured: sum('measured'), intervals };
  };
  const compared = (factor: number): object => ({
    ...group(factor),
    ...(compare !== undefined && { before: group(factor * 0.9) }),
  });
  const currencies = names.map((value, at) => ({ value, parts: [value], ...compared(30 / (1 + 2 * at)) }));
  return {
    series: series.map((_, at) => ({
      ...compared(at === 0 ? 60 : 4),
      breakdown: breakdown === undefined ? [] : currencies,
      other: null,
    })),
    formulas: [],
    as_of: to,
  };
}

function figures(from: number, persons: number): Record<'from' | 'events' | 'persons' | 'sum' | 'measured', number> {
  return { from, events: persons * 7, persons, sum: persons * 42.5, measured: persons * 42.5 };
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

function visits({ breakdown, to }: Asked): object {
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
  return { ...counted(20_000), intervals: [], values, other: null, as_of: to };
}
