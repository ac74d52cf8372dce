// SQL of what is computed with instead of the value: events packed into a number, digests of texts, amounts as whole millionths.
import type { TimeSpan } from './event_rows_sql.ts';
import { allOf, conditionOf, textOf } from './filter_sql.ts';
import type { Field, Filter } from './filters.ts';
import { hasValuesOfFew } from './personal_fields.ts';
import type { Binder } from './statement.ts';

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

/** The digest of the empty text, which stands for no value. */
export const NO_DIGEST = 'toUInt64(0)';

/**
 * The digest of a text as UInt64. Statements that keep a text of each event keep its digest, since numbers are gathered, sorted
 * and compared in a fraction of the time of texts.
 */
export const digestOfText = (text: string): string => `if(empty(${text}), ${NO_DIGEST}, cityHash64(${text}))`;

/**
 * `digest` and `text` of all different texts that a field has in a time.
 *
 * @param few Of a field that can have values of few persons, those that fewer have among the events that pass are left out.
 */
export function textsSql(
  siteId: string,
  { from, to }: TimeSpan,
  field: Field,
  binder: Binder,
  few: { leastPersons: number; filters: readonly Filter[] } = { leastPersons: 1, filters: [] },
): string {
  const isCut = few.leastPersons > 1 && hasValuesOfFew(field);
  const passes = allOf(few.filters.map((filter) => conditionOf(filter, binder)));
  const counted = isCut ? `, actor, ${passes} AS passing` : '';
  const found = binder.withNames(`SELECT ${textOf(field, binder)} AS found${counted} FROM event_rows
  WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to}`);
  return `SELECT ${digestOfText('found')} AS digest, any(found) AS text
FROM (${found}) GROUP BY digest${isCut ? ` HAVING uniqExactIf(actor, passing) >= ${few.leastPersons} OR digest = 0` : ''}`;
}

/**
 * The place of a digest among some, counted from 1; 0 where it is none of them. These are written once, as ClickHouse analyses a
 * SELECT anew wherever it is named.
 *
 * @param some A SELECT of digests in an order.
 * @param most How many they are at the most.
 */
export const slotOf = (digest: string, some: string, most: number): string =>
  `transform(${digest}, arrayResize((SELECT groupArray(*) FROM (${some})), ${most + 1}), arrayPushBack(range(1, ${most + 1}), 0), 0)`;

/** Amounts below this, and sums of many, fit into 256 bits as millionths. */
export const AMOUNT_MAX = 1e65;

/**
 * An amount in whole millionths; 0 if it is not a number, or has more than 65 digits. In one SELECT it is written for one amount
 * only, as it names its parts.
 */
export function unitsOf(amount: string): string {
  const given = `(if(ifNull(abs(${amount}) < ${AMOUNT_MAX}, false), ifNull(${amount}, 0), 0) AS exact_given)`;
  return `(${wholeOf(`(trunc(${given}) AS exact_whole)`)} * ${AMOUNT_UNITS} + toInt64(round((exact_given - exact_whole) * ${AMOUNT_UNITS})))`;
}

/** From here on every number is whole, and ClickHouse's own conversion to 256 bits is wrong: 1e21 becomes 10 more. */
const SHIFTED_FROM = 2 ** 53;
const MANTISSA_BITS = 52;
/** The exponent of a number that equals its mantissa read as a whole number. */
const EXPONENT = 1023 + MANTISSA_BITS;

/** A whole number in 64-bit floating point, which it names, as an integer of 256 bits. */
function wholeOf(named: string): string {
  const bits = '(reinterpretAsUInt64(abs(exact_whole)) AS exact_bits)';
  const mantissa = `toInt256(bitOr(bitAnd(${bits}, ${2 ** MANTISSA_BITS - 1}), ${2 ** MANTISSA_BITS}))`;
  const places = `greatest(toInt32(bitShiftRight(exact_bits, ${MANTISSA_BITS})), ${EXPONENT}) - ${EXPONENT}`;
  const great = `bitShiftLeft(${mantissa}, ${places}) * if(exact_whole < 0, -1, 1)`;
  const isSmall = `(abs(${named}) < ${SHIFTED_FROM} AS exact_small)`;
  return `if(${isSmall}, toInt256(toInt64(if(exact_small, exact_whole, 0))), ${great})`;
}

/** Amounts are added as whole millionths, so that the sum does not depend on the order. */
export const AMOUNT_UNITS = 1_000_000;
