import { FIRST_ROW } from './conditions.ts';

/**
 * SQL that tells which rows of event_rows are of an event that stands there more than once. A block that is inserted twice
 * leaves two rows of each of its events until ClickHouse merges their parts; the warehouse keeps that from happening, and
 * queries do not rely on it. To look for repeats in all rows that a query reads would take longer than the query, so the
 * warehouse looks for those of new rows every now and then (check_repeats.ts), and queries look for those of rows that came
 * since.
 */

/** The number of the last block that a row's part is made of. Parts are named PARTITION_FIRST_LAST_LEVEL. */
export const LAST_BLOCK = "toInt64(splitByChar('_', _part)[3])";

/** Which shard and partition a row is in, as repeat_checks names it. */
export const PLACE = "concat(toString(shardNum()), '/', _partition_id)";

/** By place the block below which all was checked; 0 where none was. */
const CHECKED = `(SELECT CAST(groupArray((place, checked_below)), 'Map(String, Int64)') FROM repeat_checks FINAL)`;

/** Whether a row is in a part that has rows which nobody has looked for elsewhere. ClickHouse leaves out the other parts. */
const IS_UNCHECKED = `${LAST_BLOCK} >= ${CHECKED}[${PLACE}]`;

/** Of more rows than this, ids are not gathered in memory to look for them. */
const UNCHECKED_MANY = 5_000_000;

/** A row by where it lies: parts are those of one moment for a whole query (select_rows.ts). */
const ROW = 'shardNum(), _part, _part_offset';

/**
 * A condition for rows: of an event that stands there more than once only the first by FIRST_ROW.
 *
 * Copies have the same time, so that rows of before the first unchecked one are not read.
 *
 * @param ofSites The condition that chooses the site or the sites.
 * @param range Conditions for the rows that the statement reads, that of the sites among them: by what copies have in common.
 */
export function countsOnce(ofSites: string, range: string): string {
  const unchecked = (what: string): string => `(SELECT ${what} FROM event_rows WHERE ${range} AND ${IS_UNCHECKED})`;
  const found = `SELECT event_hash FROM event_rows WHERE ${range} AND timestamp >= unchecked.2
  AND (unchecked.1 > ${UNCHECKED_MANY} OR event_hash GLOBAL IN ${unchecked('event_hash')}) GROUP BY event_hash HAVING count() > 1`;
  return `(${ROW}) GLOBAL NOT IN (WITH arrayConcat((SELECT groupArray(event_hash) FROM repeated_events WHERE ${ofSites}),
  (SELECT groupArray(event_hash) FROM (WITH ${unchecked('(count(), minOrNull(timestamp))')} AS unchecked ${found}))) AS repeated,
  arrayJoin(arraySlice(arraySort(groupArray((${FIRST_ROW}, ${ROW}))), 2)) AS further
SELECT further.2, further.3, further.4 FROM event_rows WHERE ${range} AND notEmpty(repeated) AND has(repeated, event_hash) GROUP BY site_id, event_id)`;
}
