import { monthSpan } from './month.ts';

/** Events of one site that arrived on one day, as ClickHouse counts them. */
export interface SiteDayCount {
  site_id: string;
  /** UTC, YYYY-MM-DD. */
  day: string;
  events: number;
}

/** Events of an account that arrived on one day. */
export interface UsedDay {
  /** UTC, YYYY-MM-DD. */
  day: string;
  events: number;
  /** Of these, by site; sites of which none came are left out. */
  sites: Record<string, number>;
}

const DAY_MS = 86_400_000;

/** Every day of a month (UTC) up to now, in order, those on which nothing came among them. */
export function usageByDay(month: string, counts: readonly SiteDayCount[], nowMs: number): UsedDay[] {
  const { from, to } = monthSpan(month);
  const days = new Map<string, UsedDay>();
  for (let start = from; start < to && start <= nowMs; start += DAY_MS) {
    const day = new Date(start).toISOString().slice(0, 10);
    days.set(day, { day, events: 0, sites: {} });
  }
  for (const { site_id, day, events } of counts) {
    const known = days.get(day);
    if (known === undefined) continue;
    known.events += events;
    known.sites[site_id] = (known.sites[site_id] ?? 0) + events;
  }
  return [...days.values()];
}
