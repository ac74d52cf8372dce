// Events packed into a number, which puts many of them in order at once, and digests of texts.

/**
 * Which row counts if an event is stored more than once: the first by time, then by arrival, then by its place in the request. As
 * one number, which ClickHouse compares in a fraction of the time that it takes for a tuple.
 */
export const FIRST_ROW =
  'bitShiftLeft(toInt128(toUnixTimestamp64Milli(timestamp)), 64) + bitShiftLeft(toUnixTimestamp64Milli(received_at), 20) + raw_index';

/** The digest of the empty text, which stands for no value. */
export const NO_DIGEST = 'toUInt64(0)';

/**
 * The digest of a text as UInt64. Statements that keep a text of each event keep its digest, since numbers are gathered, sorted
 * and compared in a fraction of the time of texts.
 */
export const digestOfText = (text: string): string => `if(empty(${text}), ${NO_DIGEST}, cityHash64(${text}))`;

/** An actor with more events than this in one query is refused. */
const ACTOR_EVENTS_MAX = 1_000_000;

/** Persons are divided by their digests into so many parts, which are sorted separately, on as many cores at most. */
const BUCKETS = 64;

/** ClickHouse gives fewer groups than this to a single core. */
const BUCKETS_APART = 'SETTINGS group_by_two_level_threshold = 1';

const TIME = 'toUInt64(toUnixTimestamp64Milli(timestamp))';
const ARRIVAL = 'toUInt64(toUnixTimestamp64Milli(received_at))';

/** Of events that happened at the same time, their order, and which is which: the arrival, and the place in the request. */
export const MARK = `bitShiftLeft(${ARRIVAL}, 16) + toUInt16(raw_index)`;

/**
 * An event as one number of 256 bits, the highest first: 64 of its actor; 48 each of its time and its arrival; 16 of its place
 * in the request; 64 of the digest of a text; and 16 of its mask. Sorting many of them puts each actor's events side by side
 * and in order, with all that is looked at of them.
 *
 * @param mask An expression of the type UInt16.
 * @param digest One of the type UInt64.
 */
export function packed(mask: string, digest: string = NO_DIGEST): string {
  const late = `bitShiftLeft(${ARRIVAL}, 32) + bitShiftLeft(toUInt64(toUInt16(raw_index)), 16)`;
  const [high, low] =
    digest === NO_DIGEST ? ['', ''] : [` + bitShiftRight(${digest}, 48)`, ` + bitShiftLeft(${digest}, 16)`];
  return `bitShiftLeft(toUInt256(bitShiftLeft(toUInt128(actor), 64) + bitShiftLeft(${TIME}, 16) + bitShiftRight(${ARRIVAL}, 32)), 128)
  + (bitShiftLeft(toUInt128(${late}${high}), 64)${low} + ${mask})`;
}

export const actorOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 192))`;
export const timeOf = (event: string): string => `bitShiftRight(toUInt64(bitShiftRight(${event}, 128)), 16)`;
export const markOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 80))`;
export const digestOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 16))`;
export const maskOf = (event: string): string => `toUInt16(${event})`;

/**
 * A row for each person with its events in order, `packed`.
 *
 * @param rows A SELECT of `actor` and `entry`, an event packed; each event once.
 * @param wanted Conditions for persons, over `packed`.
 */
export function personArraysSql(rows: string, wanted: readonly string[]): string {
  const few = `throwIf(length(packed) > ${ACTOR_EVENTS_MAX}, 'actor_too_large') = 0`;
  return `SELECT packed FROM (${bucketsSql(rows)}) ARRAY JOIN cut AS packed
WHERE ${[...wanted, few].join('\n  AND ')}`;
}

/**
 * `cut`: of some of the persons together an array for each. Gathering into a few long arrays and sorting these takes a quarter
 * of the time that it takes to gather into an array for each person.
 */
function bucketsSql(rows: string): string {
  const changes = `arrayDifference(arrayMap(x -> ${actorOf('x')}, sorted))`;
  return `SELECT arraySort(groupArray(entry)) AS sorted, arraySplit((x, change) -> change != 0, sorted, ${changes}) AS cut
FROM (${rows}) GROUP BY bitAnd(actor, ${BUCKETS - 1}) ${BUCKETS_APART}`;
}
