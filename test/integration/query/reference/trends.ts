import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { calendar, earlier, intervalStart } from './calendar.ts';
import type { Deed, Ledger } from './reference_ledger.ts';
import { isSelected, scoped, textOf } from './selecting.ts';

type Series = TrendsQuery['series'][number];
type Number_ = number | null;
/** Quantiles may be this part of themselves away. */
const QUANTILE_ERROR = 0.005;
const QUANTILES: Record<string, number> = { median: 0.5, p90: 0.9, p99: 0.99 };

/** Formulas that questions have, by their texts. */
export const FORMULAS: Record<string, (a: number, b: number) => number> = {
  'A / B': (a, b) => a / b,
  '(A - B) * 100': (a, b) => (a - b) * 100,
  '-A + 2.5 * B': (a, b) => -a + 2.5 * b,
  'B / (A - A)': () => Number.NaN,
};

/** The numbers of a series' field. */
function numbersOf({ sum, measure }: Series, deeds: readonly Deed[]): number[] {
  const field = sum ?? (measure?.of === 'unique' ? undefined : measure?.field);
  if (field === undefined) return [];
  const numbers = deeds
    .map((deed) => textOf(field, deed))
    .filter((text) => text !== '')
    .map(Number);
  return numbers.filter((number) => !Number.isNaN(number));
}

const unitsOf = (numbers: readonly number[]): bigint =>
  numbers.reduce((total, number) => total + BigInt(Math.round(number * 1e6)), 0n);

const persons = (deeds: readonly Deed[]): number => new Set(deeds.map(({ person }) => person)).size;

function measured(series: Series, deeds: readonly Deed[]): Number_ {
  const { sum, measure = { of: sum === undefined ? 'events' : 'sum' } } = series;
  const numbers = numbersOf(series, deeds).sort((a, b) => a - b);
  switch (measure.of) {
    case 'events':
      return deeds.length;
    case 'persons':
      return persons(deeds);
    case 'sum':
      return Number(unitsOf(numbers)) / 1e6;
    case 'average':
      return numbers.length === 0 ? null : Number(unitsOf(numbers)) / (1e6 * numbers.length);
    case 'min':
      return numbers[0] ?? null;
    case 'max':
      return numbers.at(-1) ?? null;
    case 'unique':
      return new Set(
        deeds.map((deed) => textOf(measure.field ?? { property: ['missing'] }, deed)).filter((text) => text !== ''),
      ).size;
    case 'median':
    case 'p90':
    case 'p99':
      return numbers[Math.floor((QUANTILES[measure.of] ?? 0) * (numbers.length - 1))] ?? null;
  }
}

function shown(series: Series, deeds: readonly Deed[]): Number_ {
  const value = measured(series, deeds);
  if (value === null || series.measure === undefined || !(series.measure.of in QUANTILES)) return value;
  return within(value);
}

/** Equals a number that is nearly this one. */
function within(value: number): number {
  const near = {
    asymmetricMatch: (other: unknown) =>
      typeof other === 'number' && Math.abs(other - value) <= Math.abs(value) * QUANTILE_ERROR * 1.000_001,
    toString: () => `about ${value}`,
  };
  return near as unknown as number;
}

const figures = (series: Series, deeds: readonly Deed[]) => ({
  events: deeds.length,
  persons: persons(deeds),
  sum: Number(unitsOf(numbersOf(series, deeds))) / 1e6,
  measured: shown(series, deeds),
});

interface Time {
  query: TrendsQuery;
  /** All intervals, or null where those without events are left out. */
  starts: number[] | null;
}

function pointsOf<Of extends { measured: Number_ }>({ query }: Time, points: (Of & { from: number })[]) {
  const { rolling } = query;
  if (rolling === undefined) return points;
  return points.map((point, at) => {
    const window = points.filter((one, index) => index <= at && index > at - rolling && one.measured !== null);
    const total = window.reduce((sum, one) => sum + (one.measured ?? 0), 0);
    return { ...point, rolling: window.length === 0 ? null : total / window.length };
  });
}

function group(time: Time, series: Series, deeds: readonly Deed[]) {
  const { interval } = time.query;
  const byStart = Map.groupBy(deeds, ({ at }) => intervalStart(interval, at));
  const starts = time.starts ?? [...byStart.keys()].sort((a, b) => a - b);
  const points = starts.map((from) => ({ from, ...figures(series, byStart.get(from) ?? []) }));
  return { ...figures(series, deeds), intervals: pointsOf(time, points) };
}

export function partsOf({ breakdown }: TrendsQuery, deed: Deed): string[] {
  const { field, fields = field === undefined ? [] : [field] } = breakdown ?? {};
  return fields.map((one) => textOf(one, deed));
}

/** The values of a series in order: those with most first. */
export function ranked(query: TrendsQuery, series: Series, deeds: readonly Deed[]): string[] {
  if (query.breakdown === undefined) return [];
  const rank = (of: readonly Deed[]): number =>
    series.measure === undefined ? of.length : (measured(series, of) ?? Number.NEGATIVE_INFINITY);
  return [...Map.groupBy(deeds, (deed) => JSON.stringify(partsOf(query, deed)))]
    .map(([key, of]) => ({ key, rank: rank(of) }))
    .sort((a, b) => (a.rank === b.rank ? (a.key < b.key ? -1 : 1) : b.rank - a.rank))
    .map(({ key }) => key);
}

/** As many intervals earlier as the time has, or as the query says. */
export function timeBefore(query: TrendsQuery): { from: number; to: number } {
  const { interval, from, to, compare } = query;
  if (compare === 'year') {
    const [unit, many] = interval === 'week' ? (['week', 52] as const) : (['month', 12] as const);
    return { from: earlier(unit, from, many), to: earlier(unit, to, many) };
  }
  if (compare !== undefined && compare !== 'previous') {
    const [unit, many] =
      interval === 'week' ? (['week', Math.ceil(compare.days / 7)] as const) : (['day', compare.days] as const);
    return { from: earlier(unit, from, many), to: earlier(unit, to, many) };
  }
  const count = calendar(interval, query).length;
  return { from: earlier(interval, from, count), to: earlier(interval, to, count) };
}

type Figured = ReturnType<typeof group> & { before?: ReturnType<typeof group> };

/** Trends by counting, of this time and, where asked for, of the one before. */
export function trendsByHand(query: TrendsQuery, ledger: Ledger): TrendsAnswer {
  const { interval, compare, formulas = [], empty_intervals: empty, rolling, breakdown } = query;
  const span = (part: { from: number; to: number }): Time => ({
    query,
    starts:
      empty === 'zeros' || compare !== undefined || formulas.length > 0 || rolling !== undefined
        ? calendar(interval, part)
        : null,
  });
  const past = timeBefore(query);
  const times = [
    { time: span(query), deeds: scoped(ledger, query) },
    ...(compare === undefined ? [] : [{ time: span(past), deeds: scoped(ledger, { ...query, ...past }) }]),
  ];
  const compared = (series: Series, passes: (deed: Deed) => boolean): Figured => {
    const [now, before] = times.map(({ time, deeds }) =>
      group(
        time,
        series,
        deeds.filter((deed) => isSelected(series, deed) && passes(deed)),
      ),
    );
    if (now === undefined) throw new Error('there is no time');
    return before === undefined ? now : { ...now, before };
  };
  const keyOf = (deed: Deed): string => JSON.stringify(partsOf(query, deed));
  const valuesOf = (series: Series): string[] =>
    ranked(
      query,
      series,
      (times[0]?.deeds ?? []).filter((deed) => isSelected(series, deed)),
    );
  const shared = formulas.length > 0 ? valuesOf(query.series[0] ?? {}) : null;
  const limit = breakdown?.limit ?? 100;
  const series = query.series.map((one) => {
    const own = valuesOf(one);
    const listed = (shared ?? own).slice(0, limit);
    const rest = compared(one, (deed) => !listed.includes(keyOf(deed)));
    return {
      ...compared(one, () => true),
      breakdown: listed.map((key) => ({ ...shownValue(key), ...compared(one, (deed) => keyOf(deed) === key) })),
      other: { values: own.filter((key) => !listed.includes(key)).length, ...rest },
      hasOther: breakdown !== undefined && rest.events + (rest.before?.events ?? 0) > 0,
    };
  });
  const result = (text: string, of: (Figured | undefined)[]) => {
    const [now, before] = [of, of.map((one) => one?.before)].map((groups, period) =>
      resultOf(times[period]?.time, text, groups),
    );
    return compare === undefined ? now : { ...now, before };
  };
  return {
    series: series.map(({ hasOther, other, ...one }) => ({ ...one, other: hasOther ? other : null })),
    formulas: formulas.map((text) => ({
      formula: text,
      ...result(text, series),
      breakdown: (series[0]?.breakdown ?? []).map(({ value, parts }, at) => ({
        value,
        parts,
        ...result(
          text,
          series.map((one) => one.breakdown[at]),
        ),
      })),
      other: series.some(({ hasOther }) => hasOther)
        ? result(
            text,
            series.map(({ other }) => other),
          )
        : null,
    })),
  } as TrendsAnswer;
}

function shownValue(key: string): { value: string; parts: string[] } {
  const parts = JSON.parse(key) as string[];
  return { value: parts.join(', '), parts };
}

function resultOf(
  time: Time | undefined,
  text: string,
  groups: ({ measured: Number_; intervals: { from: number; measured: Number_ }[] } | undefined)[],
) {
  if (time === undefined) return undefined;
  const [a, b] = groups;
  const of = (one: Number_ | undefined, other: Number_ | undefined): Number_ => {
    if ((text.includes('A') && (one ?? null) === null) || (text.includes('B') && (other ?? null) === null)) return null;
    const value = FORMULAS[text]?.(one ?? 0, other ?? 0) ?? Number.NaN;
    return Number.isFinite(value) ? value + 0 : null;
  };
  const points = (a?.intervals ?? []).map(({ from, measured: one }, at) => ({
    from,
    measured: of(one, b?.intervals[at]?.measured),
  }));
  return { measured: of(a?.measured, b?.measured), intervals: pointsOf(time, points) };
}
