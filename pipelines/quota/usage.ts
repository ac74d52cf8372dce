// Events of an account's sites by day of a month.

import { countsOnce } from '#pipelines/analytics/sql/event_rows.ts';
import { createBinder, type Statement } from '#pipelines/analytics/sql/statement.ts';
import type { Account } from '#schemas/setting.ts';
import { monthSpan } from './limits.ts';

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
  const range = `received_at >= ${time(from)} AND received_at < ${time(to)}`;
  return binder.statement(`SELECT toString(site_id) AS site_id, ${DAY} AS day, count() AS events FROM event_rows WHERE ${ofSites} AND ${range} AND ${countsOnce(ofSites, range, binder)}
GROUP BY site_id, day ORDER BY day, site_id`);
}

/** Shares of an allowance that are told apart, as they are written in a metric. */
const NEAR = { '80%': 0.8, '100%': 1 };

/** How many accounts have used at least so much of their month's allowance; those of which the use is not known are left out. */
export function nearAllowance(
  accounts: readonly Pick<Account, 'account_id' | 'monthly_allowance'>[],
  usedBy: (accountId: string) => number | null,
): Map<string, number> {
  const shares = accounts.flatMap(({ account_id, monthly_allowance }) => {
    const used = usedBy(account_id);
    // Of an allowance of nothing all is used as soon as something was sent.
    return used === null || used === 0 ? [] : [used / monthly_allowance];
  });
  return new Map(
    Object.entries(NEAR).map(([name, least]) => [name, shares.filter((share) => share >= least).length] as const),
  );
}
