import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS } from './amounts.ts';
import type { Field } from './filter_shapes.ts';
import { type Scope, scopeOf } from './scope.ts';
import type { Interval, Selection, TrendsQuery } from './shapes.ts';

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

/** Trends with everything decided that their question leaves open. */
export interface TrendsPlan extends Scope {
  interval: Interval;
  timeZone: string;
  series: readonly (Selection & { sum?: Field })[];
  breakdown: { field: Field; limit: number } | null;
}

export function trendsPlan(query: TrendsQuery): TrendsPlan {
  const { interval, time_zone: timeZone = 'UTC', series, breakdown } = query;
  const limited = breakdown === undefined ? null : { field: breakdown.field, limit: breakdown.limit ?? VALUES };
  return { ...scopeOf(query), interval, timeZone, series, breakdown: limited };
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
