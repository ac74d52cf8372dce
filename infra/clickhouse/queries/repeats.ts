/**
 * SQL that tells which events stand in event_rows more than once. A block that is inserted twice leaves two rows of each of its
 * events until ClickHouse merges their parts; the warehouse keeps that from happening, and queries do not rely on it. To
 * look for repeats in all rows that a query reads would take longer than the query, so the warehouse looks for those of
 * new rows every now and then (check_repeats.ts), and queries look for those of rows that came since.
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

/**
 * An array, worked out once however often the text stands in a statement: digests of the ids of events that may stand there
 * more than once.
 *
 * @param ofSites The condition that chooses the site or the sites.
 * @param range Conditions for the rows that the statement reads, that of the sites among them.
 */
export function repeatedHashes(ofSites: string, range: string): string {
  const unchecked = (what: string, when: string): string =>
    `(SELECT ${what} FROM event_rows WHERE ${range} AND ${IS_UNCHECKED}${when === '' ? '' : ` AND ${when}`})`;
  const isFew = `unchecked BETWEEN 1 AND ${UNCHECKED_MANY}`;
  const isMany = `unchecked > ${UNCHECKED_MANY}`;
  return `(WITH ${unchecked('count()', '')} AS unchecked
SELECT groupArray(event_hash) FROM (SELECT event_hash FROM repeated_events WHERE ${ofSites}
UNION ALL SELECT event_hash FROM event_rows WHERE ${range} AND ${isFew}
  AND event_hash GLOBAL IN ${unchecked('event_hash', isFew)} GROUP BY event_hash HAVING count() > 1
UNION ALL SELECT event_hash FROM event_rows WHERE ${range} AND ${isMany}
  AND toDate(timestamp) GLOBAL IN ${unchecked('DISTINCT toDate(timestamp)', isMany)} GROUP BY event_hash HAVING count() > 1))`;
}
