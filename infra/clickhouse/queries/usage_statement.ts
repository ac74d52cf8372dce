import { monthSpan } from '#pipelines/quota/month.ts';
import { countsOnce } from './repeats.ts';
import { createBinder, type Statement } from './statement.ts';

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
