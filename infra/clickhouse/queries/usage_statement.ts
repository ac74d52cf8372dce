import { monthSpan } from '#pipelines/quota/month.ts';
import { repeatedHashes } from './repeats.ts';
import { createBinder, type Statement } from './statement.ts';

const DAY = "toString(toDate(received_at, 'UTC'))";
const LISTED = '(SELECT arrayJoin(repeated))';

/**
 * Selects how many events of each site arrived on each day of a month (UTC), each event once a day. A site without events has
 * no row. Arrival has an index of its own, so that older months are not read.
 */
export function usageStatement(siteIds: readonly string[], month: string): Statement {
  const { bind, statement } = createBinder();
  const { from, to } = monthSpan(month);
  const ofSites = `site_id IN ${bind(siteIds, 'Array(String)')}`;
  const time = (ms: number): string => `fromUnixTimestamp64Milli(${bind(ms, 'Int64')}, 'UTC')`;
  const range = `${ofSites} AND received_at >= ${time(from)} AND received_at < ${time(to)}`;
  const counted = (count: string, condition: string): string =>
    `SELECT toString(site_id) AS site_id, ${DAY} AS day, ${count} AS counted FROM event_rows WHERE ${range} AND ${condition} GROUP BY site_id, day`;
  return statement(`
    WITH ${repeatedHashes(ofSites, range)} AS repeated
    SELECT site_id, day, sum(counted) AS events
    FROM (${counted('count()', `(empty(repeated) OR event_hash GLOBAL NOT IN ${LISTED})`)}
      UNION ALL ${counted('uniqExact(event_hash)', `notEmpty(repeated) AND event_hash GLOBAL IN ${LISTED}`)})
    GROUP BY site_id, day
    ORDER BY day, site_id`);
}
