import { type Static, Type } from 'typebox';
import { allOf, inScope, selects, textOf } from './filters.ts';
import type { TopQuery } from './shapes.ts';
import { createBinder, type Statement } from './statement.ts';
import { AMOUNT_UNITS, FIRST_ROW, unitsOf } from './trends.ts';

const LIMIT = 20;

export interface TopRow {
  text: string;
  events: number;
  persons: number;
  units: string;
}

/** The statement of the commonest values of a field. Rows: TopRow, one more than asked for where there are more. */
export function topStatement(siteId: string, query: TopQuery): Statement {
  const binder = createBinder();
  const names = query.events === undefined ? {} : { events: query.events };
  const by = { events: 'events', persons: 'persons', value: 'sum(first.3)' }[query.by ?? 'events'];
  return binder.statement(`SELECT first.1 AS text, count() AS events, uniqExact(first.2) AS persons, toString(sum(first.3)) AS units
FROM (SELECT argMin(tuple(${textOf(query.field, binder)}, person_id, ${unitsOf('value')}), ${FIRST_ROW}) AS first
  FROM events WHERE ${allOf([...inScope(siteId, query, binder), selects(names, binder)])} GROUP BY event_id)
GROUP BY text ORDER BY ${by} DESC, text LIMIT ${(query.limit ?? LIMIT) + 1}`);
}

/** The answer to top values. */
export const topAnswerShape = Type.Object({
  values: Type.Array(
    Type.Object({
      value: Type.String({ description: 'Empty for events that have none' }),
      events: Type.Integer(),
      persons: Type.Integer(),
      sum: Type.Number({ description: 'Of the column value' }),
    }),
  ),
  more_values: Type.Boolean(),
});
export type TopAnswer = Static<typeof topAnswerShape>;

/** The answer from the rows of the statement. */
export function topAnswer(query: TopQuery, rows: readonly TopRow[]): TopAnswer {
  const limit = query.limit ?? LIMIT;
  const values = rows
    .slice(0, limit)
    .map(({ text, events, persons, units }) => ({ value: text, events, persons, sum: Number(units) / AMOUNT_UNITS }));
  return { values, more_values: rows.length > limit };
}
