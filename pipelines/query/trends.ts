import { type Static, Type } from 'typebox';
import { allOf, inScope, numberOf, selects, textOf } from './filters.ts';
import { startOf } from './intervals.ts';
import type { TrendsQuery } from './shapes.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** Amounts are added as whole millionths, so that the sum does not depend on the order. */
export const AMOUNT_UNITS = 1_000_000;
/** 256 bits hold it in millionths, and many sums of it. */
const AMOUNT_MAX = 1e65;

/** An amount in whole millionths; 0 for what is none, or has more than 65 digits. */
export function unitsOf(amount: string): string {
  const given = `if(ifNull(abs(${amount}) < ${AMOUNT_MAX}, false), ifNull(${amount}, 0), 0)`;
  const whole = `trunc(${given})`;
  return `(${wholeOf(whole)} * ${AMOUNT_UNITS} + toInt64(round((${given} - ${whole}) * ${AMOUNT_UNITS})))`;
}

/** From here on all are whole, and ClickHouse's own conversion to 256 bits is not exact: 1e21 becomes 10 more. */
const SHIFTED_FROM = 2 ** 53;
const MANTISSA_BITS = 52;
/** Of a number whose mantissa, taken as a whole number, is the number itself. */
const EXPONENT = 1023 + MANTISSA_BITS;

/** A whole number of 64 bits of floating point as one of 256. */
function wholeOf(number: string): string {
  const bits = `reinterpretAsUInt64(abs(${number}))`;
  const mantissa = `toInt256(bitOr(bitAnd(${bits}, ${2 ** MANTISSA_BITS - 1}), ${2 ** MANTISSA_BITS}))`;
  const places = `greatest(toInt32(bitShiftRight(${bits}, ${MANTISSA_BITS})), ${EXPONENT}) - ${EXPONENT}`;
  const great = `bitShiftLeft(${mantissa}, ${places}) * if(${number} < 0, -1, 1)`;
  const isSmall = `abs(${number}) < ${SHIFTED_FROM}`;
  return `if(${isSmall}, toInt256(toInt64(if(${isSmall}, ${number}, 0))), ${great})`;
}

/** From which rows an event is read that stands there more than once: the first by time, then by arrival. */
export const FIRST_ROW = 'tuple(timestamp, received_at, raw_index)';

export interface TrendRow {
  series: number;
  kind: 'all' | 'value' | 'interval' | 'value_interval';
  text: string;
  bucket: number;
  events: number;
  persons: number;
  units: string;
}

/** The statement of trends. Rows: TrendRow. */
export function trendsStatement(siteId: string, query: TrendsQuery): Statement {
  const binder = createBinder();
  const text = query.breakdown === undefined ? "''" : textOf(query.breakdown.field, binder);
  const bucket = startOf(query.interval, 'timestamp', query.time_zone ?? 'UTC', binder);
  const conditions = query.series.map((series) => selects(series, binder));
  const matched = conditions.map((condition) => `toBool(${condition})`).join(', ');
  const units = query.series.map(({ sum }) => unitsOf(sum === undefined ? 'NULL' : numberOf(sum, binder))).join(', ');
  const sets = ['(series)', '(series, bucket)'];
  if (query.breakdown !== undefined) sets.push('(series, text)', '(series, text, bucket)');
  return binder.statement(`SELECT series, ${kindSql(query)} AS kind, ${query.breakdown === undefined ? "'' AS text" : 'text'}, bucket,
  count() AS events, uniqExact(person) AS persons, toString(sum(amounts[series])) AS units
FROM (SELECT first.1 AS person, first.2 AS bucket, first.3 AS matched, first.4 AS amounts, first.5 AS text
  FROM (SELECT argMin(tuple(person_id, ${bucket}, [${matched}], [${units}], ${text}), ${FIRST_ROW}) AS first
    FROM events WHERE ${rowsWanted(siteId, query, conditions, binder)} GROUP BY event_id))
ARRAY JOIN arrayEnumerate(matched) AS series
WHERE matched[series]
GROUP BY GROUPING SETS (${sets.join(', ')})
ORDER BY series, kind, events DESC, text, bucket`);
}

function rowsWanted(siteId: string, query: TrendsQuery, conditions: readonly string[], binder: Binder): string {
  return allOf([...inScope(siteId, query, binder), `(${conditions.join(' OR ')})`]);
}

function kindSql({ breakdown }: TrendsQuery): string {
  const interval = 'grouping(bucket) = 0';
  if (breakdown === undefined) return `if(${interval}, 'interval', 'all')`;
  const value = 'grouping(text) = 0';
  return `multiIf(${value} AND ${interval}, 'value_interval', ${value}, 'value', ${interval}, 'interval', 'all')`;
}

const figures = {
  events: Type.Integer({ minimum: 0 }),
  persons: Type.Integer({ minimum: 0 }),
  sum: Type.Number({ description: 'Of the numbers of the field to sum; 0 where none is given' }),
};
const intervals = Type.Array(Type.Object({ from: Type.Integer(), ...figures }), {
  description: 'Without those that have no event',
});

/** The answer to trends. */
export const trendsAnswerShape = Type.Object({
  series: Type.Array(
    Type.Object({
      ...figures,
      intervals,
      breakdown: Type.Array(Type.Object({ value: Type.String(), ...figures, intervals })),
    }),
  ),
});
export type TrendsAnswer = Static<typeof trendsAnswerShape>;

/** The answer from the rows of the statement. */
export function trendsAnswer(query: TrendsQuery, rows: readonly TrendRow[]): TrendsAnswer {
  return {
    series: query.series.map((_, index) => {
      const of = Map.groupBy(
        rows.filter(({ series }) => series === index + 1),
        ({ kind }) => kind,
      );
      const byValue = Map.groupBy(of.get('value_interval') ?? [], ({ text }) => text);
      const breakdown = (of.get('value') ?? []).map((row) => ({
        value: row.text,
        ...figuresOf(row),
        intervals: intervalsOf(byValue.get(row.text) ?? []),
      }));
      return { ...figuresOf(of.get('all')?.[0]), intervals: intervalsOf(of.get('interval') ?? []), breakdown };
    }),
  };
}

function intervalsOf(rows: readonly TrendRow[]) {
  return rows.toSorted((a, b) => a.bucket - b.bucket).map((row) => ({ from: row.bucket, ...figuresOf(row) }));
}

function figuresOf(row: TrendRow | undefined): { events: number; persons: number; sum: number } {
  if (row === undefined) return { events: 0, persons: 0, sum: 0 };
  return { events: row.events, persons: row.persons, sum: Number(row.units) / AMOUNT_UNITS };
}
