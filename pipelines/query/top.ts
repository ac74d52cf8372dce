import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS, unitsOf } from './amounts.ts';
import { allOf, inScope, selects, textOf } from './filters.ts';
import type { TopQuery } from './shapes.ts';
import { createBinder, type Statement } from './statement.ts';
import { FIRST_ROW } from './trends.ts';

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

/** The statement of the commonest values of a field. Rows: TopRow. */
export function topStatement(siteId: string, query: TopQuery): Statement {
  const binder = createBinder();
  const names = query.events === undefined ? {} : { events: query.events };
  const by = { events: 'counted', persons: 'finalizeAggregation(people)', value: 'added' }[query.by ?? 'events'];
  const limit = query.limit ?? LIMIT;
  return binder.statement(`SELECT name AS text, isRest AS rest, count() AS texts, sum(counted) AS events,
  uniqExactMerge(people) AS persons, toString(sum(added)) AS units
FROM (SELECT *, row_number() OVER (ORDER BY ${by} DESC, value) AS place, place > ${limit} AS isRest, if(isRest, '', value) AS name
  FROM (SELECT first.1 AS value, count() AS counted, uniqExactState(first.2) AS people, sum(first.3) AS added
    FROM (SELECT argMin(tuple(${textOf(query.field, binder)}, person_id, ${unitsOf('value')}), ${FIRST_ROW}) AS first
      FROM events WHERE ${allOf([...inScope(siteId, query, binder), selects(names, binder)])} GROUP BY event_id)
    GROUP BY value))
GROUP BY name, isRest ORDER BY min(place)`);
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
