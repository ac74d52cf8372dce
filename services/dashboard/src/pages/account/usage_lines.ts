import { monthSpan } from '#pipelines/quota/month.ts';
import type { UsageAnswer } from '#services/control_api/sites.ts';
import type { Series } from '../../charts/series.ts';

/** Lines of a chart, with the days that they have values for. */
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
