import { HEALS, type HealthQuestion } from '#pipelines/delivery/health.ts';
import { createBinder, type Statement } from './statement.ts';

const HEALING = [...HEALS].map((reason) => `'${reason}'`).join(', ');
/** What says how the destination is: a pause only says again what made it. */
const TRIED = `outcome != 'skipped' AND NOT (outcome = 'paused' AND reason IN (${HEALING}))`;
const FAILED = `outcome IN ('diverted', 'paused', 'dead')`;

const WAITS = `outcome IN ('diverted', 'paused')`;
/**
 * What identifies an event among the outcomes, in few bytes: where a destination refuses everything, all of a day's are held in
 * memory at once.
 */
const EVENT = 'sipHash128(site_id, destination, event_id, coordinate_partition, coordinate_offset, coordinate_index)';
/** Orders the outcomes of an event as (attempted_at, attempt) does, in one number. */
const ORDER = 'toUnixTimestamp64Milli(attempted_at) * 65536 + attempt';

/** Selects the health of each destination and site that has outcomes since a time, or events that wait. */
export function healthStatement({ sinceMs, waitingSinceMs, siteId, destination }: HealthQuestion): Statement {
  const { bind, statement } = createBinder();
  const since = (timeMs: number): string => `attempted_at >= fromUnixTimestamp64Milli(${bind(timeMs, 'Int64')})`;
  const chosen = [
    ...(siteId === null ? [] : [`AND site_id = ${bind(siteId, 'String')}`]),
    ...(destination === null ? [] : [`AND destination = ${bind(destination, 'String')}`]),
  ].join(' ');
  return statement(`
    SELECT site_id, destination, attempts, delivered, diverted, paused, waiting, dead, failed, skipped,
      if(tried_outcome = '', held_outcome, tried_outcome) AS latest, if(tried_outcome = '', held_reason, tried_reason) AS latest_reason,
      delivered_at, failed_at, failed_reason,
      if(empty(took_ms), [0, 0], took_ms) AS took_ms, if(empty(age_ms), [0, 0], age_ms) AS age_ms
    FROM (${outcomesOf(`${since(sinceMs)} ${chosen}`)}) AS outcomes
    FULL OUTER JOIN (${newestOf(`${since(waitingSinceMs)} ${chosen}`, since(sinceMs))}) AS held USING (site_id, destination)
    ORDER BY destination, site_id
    SETTINGS join_use_nulls = 0`);
}

function outcomesOf(condition: string): string {
  return `
    SELECT site_id, destination,
      countIf(outcome IN ('delivered', 'diverted', 'dead')) AS attempts,
      countIf(outcome = 'delivered') AS delivered,
      countIf(outcome = 'diverted') AS diverted,
      countIf(outcome = 'paused') AS paused,
      countIf(outcome = 'dead') AS dead,
      sumMapIf(map(toString(reason), toUInt64(1)), outcome = 'skipped') AS skipped,
      toString(argMaxIf(outcome, attempted_at, ${TRIED})) AS tried_outcome,
      toString(argMaxIf(reason, attempted_at, ${TRIED})) AS tried_reason,
      toUnixTimestamp64Milli(maxIf(attempted_at, outcome = 'delivered')) AS delivered_at,
      toUnixTimestamp64Milli(maxIf(attempted_at, ${FAILED})) AS failed_at,
      toString(argMaxIf(reason, attempted_at, ${FAILED})) AS failed_reason,
      arrayMap(x -> if(isNaN(x), 0, round(x)), quantilesIf(0.5, 0.99)(took_ms, took_ms > 0)) AS took_ms,
      arrayMap(x -> if(isNaN(x), 0, round(x)), quantilesIf(0.5, 0.99)(
        toUnixTimestamp64Milli(attempted_at) - toUnixTimestamp64Milli(received_at), outcome = 'delivered')) AS age_ms
    FROM delivery_outcomes
    WHERE ${condition}
    GROUP BY site_id, destination`;
}

/**
 * Only events that were once on a lane, or died of late, are counted one by one, by their newest outcome; what a destination has
 * is not lost, whatever came after.
 */
function newestOf(condition: string, recently: string): string {
  const isCounted = `(${WAITS} OR (outcome = 'dead' AND ${recently}))`;
  return `
    SELECT site_id, destination,
      countIf(is_waiting) AS waiting,
      anyIf(newest.1, is_waiting) AS held_outcome, anyIf(newest.2, is_waiting) AS held_reason,
      countIf(is_dead AND died AND NOT taken) AS failed
    FROM (
      SELECT site_id, destination,
        argMax((toString(outcome), toString(reason)), ${ORDER}) AS newest,
        newest.1 IN ('diverted', 'paused') AS is_waiting, newest.1 = 'dead' AS is_dead,
        max(outcome = 'dead' AND ${recently}) AS died, max(outcome = 'delivered') AS taken
      FROM delivery_outcomes
      WHERE ${condition}
        AND ${EVENT} GLOBAL IN (SELECT ${EVENT} FROM delivery_outcomes WHERE ${condition} AND ${isCounted})
      GROUP BY site_id, destination, ${EVENT})
    GROUP BY site_id, destination
    HAVING waiting > 0 OR failed > 0`;
}
