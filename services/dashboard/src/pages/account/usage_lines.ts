import { monthSpan } from '#pipelines/quota/limits.ts';
import type { UsageAnswer } from '#services/control_api/sites.ts';
import type { Series } from '../../charts/chart_table.tsx';

interface UsageLines {
  starts: number[];
  series: Series[];
}

const DAY_MS = 86_400_000;
const SITES_MAX = 6;
/** A line so much higher than all others would press them flat. */
const HIGHER_MAX = 4;
const MONTHS = 13;

/** What of the allowance a day has where it is spread evenly over the days of a month. */
export function evenShare(month: string, allowance: number): number {
  const { from, to } = monthSpan(month);
  return Math.round(allowance / ((to - from) / DAY_MS));
}

/**
 * The events of each day, of all sites and of the six with the most; and a day's even share of the allowance, unless that is so
 * high that nothing could be seen beside it.
 */
export function usageLines({ month, days }: UsageAnswer, allowance: number): UsageLines {
  const sums = new Map<string, number>();
  for (const { sites } of days) {
    for (const [site, events] of Object.entries(sites)) sums.set(site, (sums.get(site) ?? 0) + events);
  }
  const most = [...sums].sort(([, one], [, other]) => other - one).slice(0, SITES_MAX);
  const all = days.map(({ events }) => events);
  const share = evenShare(month, allowance);
  const hasShare = share <= HIGHER_MAX * Math.max(1, ...all);
  return {
    starts: days.map(({ day }) => Date.parse(day)),
    series: [
      { name: 'All sites', values: all },
      ...(most.length < 2
        ? []
        : most.map(([site]) => ({ name: site, values: days.map((day) => day.sites[site] ?? 0) }))),
      ...(hasShare ? [{ name: 'Allowance, spread evenly', values: days.map(() => share) }] : []),
    ],
  };
}

/** The month that is now (UTC) and those before it, the newest first. */
export function monthsUntil(nowMs: number): string[] {
  const now = new Date(nowMs);
  return Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
}

interface Forecast {
  total: number;
  /** When the allowance is used up, in milliseconds since 1970 UTC; null: not in this month. */
  reachedAtMs: number | null;
}

/** A rate needs some time to say anything. */
const KNOWN_AFTER_MS = 6 * 3_600_000;
/** So much more than the allowance is still taken (the grace margin). */
export const GRACE = 1.2;

/** What the month comes to at its rate so far; null in its first hours. */
function forecast(used: number, allowance: number, nowMs: number): Forecast | null {
  const now = new Date(nowMs);
  const begin = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const passed = nowMs - begin;
  if (passed < KNOWN_AFTER_MS) return null;
  const perMs = used / passed;
  const total = Math.round(perMs * (end - begin));
  if (used >= allowance) return { total, reachedAtMs: nowMs };
  const reachedAtMs = perMs === 0 ? Number.POSITIVE_INFINITY : Math.round(begin + allowance / perMs);
  return { total, reachedAtMs: reachedAtMs < end ? reachedAtMs : null };
}

/**
 * - within: it lasts at the rate so far, or that is not known yet
 * - will_end: it is used up before the month is over
 * - used_up: it is, and the grace margin is not
 * - dropping: that is used up as well, and events are dropped
 */
export type AllowanceState = 'within' | 'will_end' | 'used_up' | 'dropping';

interface MonthOutlook {
  state: AllowanceState;
  expected: Forecast | null;
}

/** The one rule by which the overview and the account page judge a month. */
export function monthOutlook(used: number, allowance: number, nowMs: number): MonthOutlook {
  const expected = forecast(used, allowance, nowMs);
  if (used >= allowance * GRACE) return { state: 'dropping', expected };
  if (used >= allowance) return { state: 'used_up', expected };
  return { state: expected !== null && expected.reachedAtMs !== null ? 'will_end' : 'within', expected };
}
