import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS } from './amounts.ts';
import type { Field } from './filter_shapes.ts';
import { type Scope, scopeOf } from './scope.ts';
import type { Selection, TopQuery } from './shapes.ts';

const LIMIT = 20;

export interface TopRow {
  text: string;
  /** 1: of the values together that are not given one by one. */
  rest: number;
  /** How many these are. */
  texts: number;
  events: number;
  persons: number;
  units: string;
}

/** Top values with everything decided that their question leaves open. */
export interface TopPlan extends Scope {
  selection: Selection;
  field: Field;
  by: 'events' | 'persons' | 'value';
  limit: number;
}

export function topPlan(query: TopQuery): TopPlan {
  const { events, field, by = 'events', limit = LIMIT } = query;
  return { ...scopeOf(query), selection: events === undefined ? {} : { events }, field, by, limit };
}

const figures = {
  events: Type.Integer(),
  persons: Type.Integer(),
  sum: Type.Number({ description: 'Of the column value' }),
};

/** The answer to top values. */
export const topAnswerShape = Type.Object({
  values: Type.Array(
    Type.Object({ value: Type.String({ description: 'Empty for events that have none' }), ...figures }),
  ),
  more_values: Type.Boolean(),
  other: Type.Union([Type.Object({ values: Type.Integer({ minimum: 1 }), ...figures }), Type.Null()], {
    description: 'All other values together, and how many they are; null where there are none',
  }),
});
export type TopAnswer = Static<typeof topAnswerShape>;

/** The answer from the rows of the statement. */
export function topAnswer(_query: TopQuery, rows: readonly TopRow[]): TopAnswer {
  const rest = rows.find((row) => row.rest === 1);
  return {
    values: rows.filter((row) => row.rest === 0).map((row) => ({ value: row.text, ...figuresOf(row) })),
    more_values: rest !== undefined,
    other: rest === undefined ? null : { values: rest.texts, ...figuresOf(rest) },
  };
}

function figuresOf({ events, persons, units }: TopRow): { events: number; persons: number; sum: number } {
  return { events, persons, sum: Number(units) / AMOUNT_UNITS };
}
