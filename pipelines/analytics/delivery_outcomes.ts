// What delivery outcomes tell: the health of a destination, its newest attempts, and what became of dead-letter events.
import { createBinder, type Statement } from './sql/statement.ts';

/** What the outcomes of one site at one destination come to, as ClickHouse counts them. Times in milliseconds since 1970 UTC. */
export interface HealthRow {
  site_id: string;
  destination: string;
  attempts: number;
  delivered: number;
  diverted: number;
  paused: number;
  /** Events whose newest outcome says that they wait on a retry topic. */
  waiting: number;
  /** Outcomes. */
  dead: number;
  /** Events of these that are dead still, as their newest outcome says. */
  failed: number;
  /** Events left out, by reason. */
  skipped: Record<string, number>;
  /**
   * Of the newest attempt that was no skip, and no pause that heals by itself, or else of an event that waits; empty where
   * there was neither. What stays paused has no further outcome.
   */
  latest: string;
  latest_reason: string;
  delivered_at: number;
  failed_at: number;
  failed_reason: string;
  took_ms: readonly [p50: number, p99: number];
  age_ms: readonly [p50: number, p99: number];
}

/**
 * - delivering: the newest attempt brought the event there, whatever waits
 * - failing: it did not; the event waits on a retry topic, or is dead
 * - waits_for_settings: the platform does not take the credentials, or settings are missing
 * - idle: nothing was attempted
 */
type HealthState = 'delivering' | 'failing' | 'waits_for_settings' | 'idle';

/** Reasons for which an event is paused that heal by themselves. */
const HEALS: ReadonlySet<string> = new Set(['breaker_open', 'throttled', 'handed_over', 'slow']);

interface HealthQuestion {
  sinceMs: number;
  /** Since when outcomes are looked at for events that wait: earlier than the longest that an event may wait. */
  waitingSinceMs: number;
  siteId: string | null;
  destination: string | null;
}

export function healthState({ latest, latest_reason }: Pick<HealthRow, 'latest' | 'latest_reason'>): HealthState {
  if (latest === '') return 'idle';
  if (latest === 'delivered') return 'delivering';
  return latest === 'paused' && !HEALS.has(latest_reason) ? 'waits_for_settings' : 'failing';
}

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
 * Only events that were once on a retry topic, or died of late, are counted one by one, by their newest outcome; what a destination has
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

/** Attempts of which destination, and how many. */
interface NewestAttempts {
  siteId: string;
  destination: string;
  /** Only those with this outcome; null: all but events that were left out on purpose. */
  outcome: string | null;
  /** Milliseconds since 1970 UTC. */
  sinceMs: number;
  limit: number;
}

/**
 * The statement of the newest attempts to deliver events of a site to a destination, in the order of the table's key. Rows:
 * NewestAttemptRow.
 */
export function newestAttemptsStatement(asked: NewestAttempts): Statement {
  const { siteId, destination, outcome, sinceMs, limit } = asked;
  const { bind, statement } = createBinder();
  const chosen = outcome === null ? `outcome != 'skipped'` : `outcome = ${bind(outcome, 'String')}`;
  return statement(`SELECT event_id, event, attempt, toUnixTimestamp64Milli(attempted_at) AS attempted,
  outcome, reason, took_ms, answer_status, answer
FROM delivery_outcomes
WHERE site_id = ${bind(siteId, 'String')} AND destination = ${bind(destination, 'String')}
  AND attempted_at >= fromUnixTimestamp64Milli(${bind(sinceMs, 'Int64')}) AND ${chosen}
ORDER BY attempted_at DESC, attempt DESC LIMIT ${bind(limit, 'UInt32')}`);
}

/** An event at a destination, by its coordinate. */
export interface OutcomePlace {
  siteId: string;
  eventId: string;
  destination: string;
  partition: number;
  offset: number;
  index: number;
}

/** A row of the statement. */
export interface DeadLetterOutcomeRow {
  site_id: string;
  destination: string;
  p: number;
  o: number;
  i: number;
  /** 1 where the destination has it. */
  delivered: number;
  /** Outcome of the newest attempt. */
  latest: string;
  /** When that was, in milliseconds since 1970 UTC. */
  latest_at: number;
}

/** Ids in one parameter, of which ClickHouse takes 128 KiB: an id is of 200 characters at the most. */
const IDS_MAX = 150;

/**
 * The statement of what the outcomes say of some events at their destinations; what was not attempted has no row. There was no
 * attempt before `sinceMs` (milliseconds since 1970 UTC). Rows: LetterOutcomeRow.
 */
export function deadLetterOutcomesStatement(places: readonly OutcomePlace[], sinceMs: number): Statement {
  const { bind, statement } = createBinder();
  const distinct = (values: readonly string[]): string => bind([...new Set(values)], 'Array(String)');
  const ids = [...new Set(places.map(({ eventId }) => eventId))];
  const chunks = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, at) =>
    ids.slice(at * IDS_MAX, (at + 1) * IDS_MAX),
  );
  // The index by_event_id finds them; their coordinates tell copies of one id apart.
  const isOneOf = chunks.map((some) => `event_id IN ${distinct(some)}`).join(' OR ');
  // Numbers of our own records, which are too many for a parameter each.
  const tuples = places.map(({ partition, offset, index }) => `(${partition},${offset},${index})`).join(',');
  return statement(`SELECT site_id, destination,
  coordinate_partition AS p, coordinate_offset AS o, coordinate_index AS i,
  max(outcome = 'delivered') AS delivered, toString(argMax(outcome, (attempted_at, attempt))) AS latest,
  toUnixTimestamp64Milli(max(attempted_at)) AS latest_at
FROM delivery_outcomes
WHERE site_id IN ${distinct(places.map(({ siteId }) => siteId))}
  AND destination IN ${distinct(places.map(({ destination }) => destination))}
  AND attempted_at >= fromUnixTimestamp64Milli(${bind(sinceMs, 'Int64')})
  AND (${isOneOf})
  AND (coordinate_partition, coordinate_offset, coordinate_index) IN (${tuples})
GROUP BY site_id, destination, p, o, i`);
}
