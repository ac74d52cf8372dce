// Events of an account's sites by day of a month.

import { countsOnce } from '#pipelines/analytics/event_rows_sql.ts';
import { createBinder, type Statement } from '#pipelines/analytics/statement.ts';
import { monthSpan } from './month.ts';

/** Events of one site that arrived on one day, as ClickHouse counts them. */
export interface SiteDayCount {
  site_id: string;
  /** UTC, YYYY-MM-DD. */
  day: string;
  events: number;
}

/** Events of an account that arrived on one day. */
interface UsedDay {
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

const DAY = "toString(toDate(received_at, 'UTC'))";

/**
 * Selects how many events of each site arrived on each day of a month (UTC), each event once a day. A site without events has
 * no row. Arrival has an index of its own, so that older months are not read.
 */
export function usageStatement(siteIds: readonly string[], month: string): Statement {
  const binder = createBinder();
  const { bind, time } = binder;
  const { from, to } = monthSpan(month);
  const ofSites = `site_id IN ${bind(siteIds, 'Array(String)')}`;
  const range = `${ofSites} AND received_at >= ${time(from)} AND received_at < ${time(to)}`;
  return binder.statement(`SELECT toString(site_id) AS site_id, ${DAY} AS day, count() AS events FROM event_rows WHERE ${range} AND ${countsOnce(ofSites, range, binder)}
GROUP BY site_id, day ORDER BY day, site_id`);
}
