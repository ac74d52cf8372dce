import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS, unitsOf } from './amounts.ts';
import { allOf, inScope, numberOf, selects, textOf } from './filters.ts';
import { startOf } from './intervals.ts';
import type { TrendsQuery } from './shapes.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** From which rows an event is read that stands there more than once: the first by time, then by arrival. */
export const FIRST_ROW = 'tuple(timestamp, received_at, raw_index)';

/** Values of a breakdown that are given one by one. */
const VALUES = 100;

export interface TrendRow {
  series: number;
  kind: 'all' | 'value' | 'interval' | 'value_interval';
  text: string;
  /** 1: of the values together that are not given one by one. */
  rest: number;
  /** How many these are. */
  texts: number;
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
  const events = `SELECT series, text, bucket, person, amounts[series] AS amount
FROM (SELECT first.1 AS person, first.2 AS bucket, first.3 AS matched, first.4 AS amounts, first.5 AS text
  FROM (SELECT argMin(tuple(person_id, ${bucket}, [${matched}], [${units}], ${text}), ${FIRST_ROW}) AS first
    FROM events WHERE ${rowsWanted(siteId, query, conditions, binder)} GROUP BY event_id))
ARRAY JOIN arrayEnumerate(matched) AS series
WHERE matched[series]`;
  return binder.statement(query.breakdown === undefined ? plainSql(events) : byValueSql(events, query.breakdown.limit));
}

function plainSql(events: string): string {
  return `SELECT series, if(grouping(bucket) = 0, 'interval', 'all') AS kind, '' AS text, 0 AS rest, 0 AS texts, bucket,
  count() AS events, uniqExact(person) AS persons, toString(sum(amount)) AS units
FROM (${events})
GROUP BY GROUPING SETS ((series), (series, bucket))
ORDER BY series, kind, bucket`;
}

/** Persons are counted once among all values that are given together, so sets of them are merged and not numbers added. */
function byValueSql(events: string, limit = VALUES): string {
  const counted = `SELECT series, text, bucket, count() AS counted, uniqExactState(person) AS people, sum(amount) AS added
FROM (${events}) GROUP BY series, text, bucket`;
  const totals = `SELECT *, sum(counted) OVER (PARTITION BY series, text) AS total FROM (${counted})`;
  const placed = `SELECT *, dense_rank() OVER (PARTITION BY series ORDER BY total DESC, text) > ${limit} AS isRest FROM (${totals})`;
  return `SELECT series, ${KIND} AS kind, name AS text, isRest AS rest, uniqExact(value) AS texts, bucket,
  sum(counted) AS events, uniqExactMerge(people) AS persons, toString(sum(added)) AS units
FROM (SELECT * EXCEPT text, text AS value, if(isRest, '', text) AS name FROM (${placed}))
GROUP BY GROUPING SETS ((series), (series, bucket), (series, isRest, name), (series, isRest, name, bucket))
ORDER BY series, kind, events DESC, text, bucket`;
}

const KIND = `multiIf(grouping(name) = 0 AND grouping(bucket) = 0, 'value_interval', grouping(name) = 0, 'value',
  grouping(bucket) = 0, 'interval', 'all')`;

function rowsWanted(siteId: string, query: TrendsQuery, conditions: readonly string[], binder: Binder): string {
  return allOf([...inScope(siteId, query, binder), `(${conditions.join(' OR ')})`]);
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
      breakdown: Type.Array(Type.Object({ value: Type.String(), ...figures, intervals }), {
        description: 'The commonest values, the greatest first; the empty text is for no value',
      }),
      other: Type.Union([Type.Object({ values: Type.Integer({ minimum: 1 }), ...figures, intervals }), Type.Null()], {
        description: 'All other values together, and how many they are; null where there are none',
      }),
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
      const values = of.get('value') ?? [];
      const given = of.get('value_interval') ?? [];
      const byValue = Map.groupBy(given.filter(isGiven), ({ text }) => text);
      const rest = values.find((row) => !isGiven(row));
      return {
        ...figuresOf(of.get('all')?.[0]),
        intervals: intervalsOf(of.get('interval') ?? []),
        breakdown: values
          .filter(isGiven)
          .map((row) => ({ value: row.text, ...figuresOf(row), intervals: intervalsOf(byValue.get(row.text) ?? []) })),
        other:
          rest === undefined
            ? null
            : { values: rest.texts, ...figuresOf(rest), intervals: intervalsOf(given.filter((row) => !isGiven(row))) },
      };
    }),
  };
}

const isGiven = ({ kind, rest }: TrendRow): boolean => kind !== 'all' && kind !== 'interval' && rest === 0;

function intervalsOf(rows: readonly TrendRow[]) {
  return rows.toSorted((a, b) => a.bucket - b.bucket).map((row) => ({ from: row.bucket, ...figuresOf(row) }));
}

function figuresOf(row: TrendRow | undefined): { events: number; persons: number; sum: number } {
  if (row === undefined) return { events: 0, persons: 0, sum: 0 };
  return { events: row.events, persons: row.persons, sum: Number(row.units) / AMOUNT_UNITS };
}
