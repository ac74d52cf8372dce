import type { Binder } from './statement.ts';

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

/** A row by where it lies: parts are those of one moment for a whole query (select_rows.ts). */
const ROW = 'shardNum(), _part, _part_offset';

/** What FIRST_ROW puts in order: of few rows, so that it need not be one number. */
const ORDER = 'timestamp, received_at, raw_index';

/**
 * A condition for rows: of an event that stands there more than once only the first by FIRST_ROW.
 *
 * Where there are no rows to look for, ClickHouse knows before it reads that none is one of them, and reads none.
 *
 * @param ofSites The condition that chooses the site or the sites.
 * @param range Conditions for the rows that the statement reads, that of the sites among them: by what copies have in common.
 */
export function countsOnce(ofSites: string, range: string, binder: Binder): string {
  const found = `SELECT event_hash FROM event_rows WHERE ${range}
  AND event_hash GLOBAL IN (SELECT event_hash FROM event_rows WHERE ${range} AND ${IS_UNCHECKED}) GROUP BY event_hash HAVING count() > 1`;
  const further = `SELECT arrayJoin(arraySlice(arraySort(groupArray((${ORDER}, ${ROW}))), 2)) AS row FROM event_rows WHERE ${range}
  AND event_hash GLOBAL IN (SELECT event_hash FROM repeated_events WHERE ${ofSites} UNION ALL ${found}) GROUP BY site_id, event_id`;
  return `(${ROW}) GLOBAL NOT IN (SELECT arrayJoin((SELECT groupArray((row.4, row.5, row.6)) FROM (${binder.shared(further)}))))`;
}
