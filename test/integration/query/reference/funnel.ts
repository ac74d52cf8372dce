import type { FunnelAnswer, FunnelQuery, FunnelStep } from '#pipelines/analytics/funnels/query.ts';
import { intervalStart } from './calendar.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { passesAll, textOf } from './selecting.ts';
import { type Way, waysTo } from './ways.ts';

const PAUSE_MS = 1_800_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CLASSES_MS = [
  MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  3 * DAY_MS,
  7 * DAY_MS,
  14 * DAY_MS,
  30 * DAY_MS,
  Number.POSITIVE_INFINITY,
];

/** One person or session that began: its best way to each step, if it got there, and the text it is broken down by. */
export interface Attempt {
  /** The events of the person or session, in order. */
  deeds: Deed[];
  ways: (Way | undefined)[];
  text: string;
}

/** The answer to a funnel by looking at every way that every actor could have gone. */
export function funnelByHand(query: FunnelQuery, ledger: Ledger): FunnelAnswer {
  const attempts = attemptsOf(query, ledger);
  const limit = query.breakdown?.limit ?? 20;
  const values = query.breakdown === undefined ? [] : byText(attempts);
  const rest = values.slice(limit).flatMap(([, of]) => of);
  return {
    steps: stepsOf(query, attempts),
    time_to_convert: classes(query, attempts),
    breakdown: values.slice(0, limit).map(([value, of]) => ({ value, steps: stepsOf(query, of) })),
    more_values: values.length > limit,
    other: rest.length === 0 ? null : { values: values.length - limit, steps: stepsOf(query, rest) },
    trend: query.trend === undefined ? [] : trend(query, attempts),
  };
}

/** Of each actor that began. */
export function attemptsOf(query: FunnelQuery, ledger: Ledger): Attempt[] {
  return actors(query, ledger).flatMap((deeds) => {
    const ways = waysTo(query, deeds);
    return ways[0] === undefined ? [] : [{ deeds, ways, text: textOfAttempt(query, deeds, ways) }];
  });
}

/** The events of each actor in order. With a look back for touches they begin before the query's time. */
function actors(query: FunnelQuery, ledger: Ledger): Deed[][] {
  const from = query.from - (query.breakdown?.lookback_ms ?? 0);
  const persons = [...byPerson(ledger.filter(({ at }) => at >= from && at < query.to)).values()];
  const sequences = query.count_by === 'session' ? persons.flatMap(sessions) : persons;
  return sequences.map((deeds) => deeds.filter((deed) => passesAll(query.filters, deed)));
}

/** A person's events, cut where nothing happened for more than half an hour. */
export function sessions(deeds: readonly Deed[]): Deed[][] {
  const found: Deed[][] = [];
  for (const deed of deeds) {
    const before = found.at(-1)?.at(-1);
    if (before === undefined || deed.at - before.at > PAUSE_MS) found.push([]);
    found.at(-1)?.push(deed);
  }
  return found;
}

/** The way to the last step that was reached. */
export const lastWay = (ways: readonly (Way | undefined)[]): Way | undefined =>
  ways.findLast((way) => way !== undefined);

function textOfAttempt({ breakdown: by }: FunnelQuery, deeds: readonly Deed[], ways: Attempt['ways']): string {
  const best = lastWay(ways);
  if (by === undefined || best === undefined) return '';
  if (by.at === 'step') {
    const deed = deeds[best.at];
    return deed === undefined ? '' : textOf(by.field, deed);
  }
  const start = deeds[best.start];
  if (by.at === 'first_step') return start === undefined ? '' : textOf(by.field, start);
  const texts = deeds
    .slice(0, best.end + 1)
    .map((deed) => textOf(by.field, deed))
    .filter((text) => text !== '');
  return (by.at === 'first_touch' ? texts[0] : texts.at(-1)) ?? '';
}

/** The commonest first. */
export function byText(attempts: readonly Attempt[]): [text: string, of: Attempt[]][] {
  return [...Map.groupBy(attempts, ({ text }) => text)].sort(
    ([one, a], [other, b]) => b.length - a.length || (one < other ? -1 : 1),
  );
}

function trend(query: FunnelQuery, attempts: readonly Attempt[]): FunnelAnswer['trend'] {
  const interval = query.trend?.interval ?? 'day';
  return [...Map.groupBy(attempts, ({ ways }) => intervalStart(interval, lastWay(ways)?.startedAt ?? 0))]
    .map(([from, of]) => ({ from, steps: stepsOf(query, of) }))
    .sort((a, b) => a.from - b.from);
}

function stepsOf({ steps }: FunnelQuery, attempts: readonly Attempt[]): FunnelStep[] {
  const reached = steps.map((_, index) => attempts.filter(({ ways }) => ways[index] !== undefined).length);
  return steps.map((_, index) => {
    const count = reached[index] ?? 0;
    const times = timesTo(index, attempts, ({ startedAt }) => startedAt);
    const between = timesTo(index, attempts, ({ previousAt }) => previousAt);
    const required = steps.findLastIndex(({ optional }, before) => before < index && optional !== true);
    return {
      reached: count,
      of_first: share(count, reached[0]),
      of_previous: share(count, reached[Math.max(0, required)]),
      time_ms: count === 0 ? null : { ...middle(times), least: times[0] ?? -1, most: times.at(-1) ?? -1 },
      between_ms: count === 0 || index === 0 ? null : middle(between),
    };
  });
}

/** Of sorted times, of which there is at least one. */
function middle(times: readonly number[]): { median: number; p90: number; average: number } {
  const sum = times.reduce((total, time) => total + BigInt(time), 0n);
  return {
    median: times[Math.floor(times.length * 0.5)] ?? -1,
    p90: times[Math.min(times.length - 1, Math.floor(times.length * 0.9))] ?? -1,
    average: Number(sum / BigInt(times.length)),
  };
}

function timesTo(index: number, attempts: readonly Attempt[], since: (way: Way) => number): number[] {
  return attempts
    .flatMap(({ ways }) => {
      const way = ways[index];
      return way === undefined ? [] : [way.endedAt - since(way)];
    })
    .sort((a, b) => a - b);
}

function share(some: number, all: number | undefined): number {
  return all === undefined || all === 0 ? 0 : some / all;
}

function classes({ steps }: FunnelQuery, attempts: readonly Attempt[]): FunnelAnswer['time_to_convert'] {
  const times = timesTo(steps.length - 1, attempts, ({ startedAt }) => startedAt);
  return CLASSES_MS.map((upTo, index) => ({
    up_to_ms: Number.isFinite(upTo) ? upTo : null,
    reached: times.filter((time) => time <= upTo && time > (CLASSES_MS[index - 1] ?? -1)).length,
  }));
}
