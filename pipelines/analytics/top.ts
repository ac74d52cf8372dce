// Top values of a field: the question, its statement and its answer.

import { type Static, Type } from 'typebox';
import { closed, fieldShape } from './filters.ts';
import { hasSmallCountValues } from './personal_fields.ts';
import { common, EXAMPLE_TIME, eventNames, limitOf, question, selectionOf } from './question.ts';
import { firstRowsSql, querySpan, SPILLED } from './sql/event_rows.ts';
import { AMOUNT_UNITS, conditionOf, selects, slotOf, textOf, unitsOf } from './sql/expressions.ts';
import { createBinder, type Statement } from './sql/statement.ts';

const LIMIT = 20;

const schema = closed({
  ...common,
  events: Type.Optional(eventNames),
  field: fieldShape,
  by: Type.Optional(Type.Enum(['events', 'persons', 'value'], { default: 'events' })),
  limit: limitOf(LIMIT),
});
export type TopQuery = Static<typeof schema>;

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

const figures = {
  events: Type.Integer(),
  persons: Type.Integer(),
  sum: Type.Number({ description: 'Of the column value' }),
};

/** The answer to top values. */
const answerSchema = Type.Object({
  values: Type.Array(
    Type.Object({ value: Type.String({ description: 'Empty for events that have none' }), ...figures }),
  ),
  more_values: Type.Boolean(),
  other: Type.Union([Type.Object({ values: Type.Integer({ minimum: 1 }), ...figures }), Type.Null()], {
    description: 'All other values together, and how many they are; null where there are none',
  }),
});
export type TopAnswer = Static<typeof answerSchema>;

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

const RANKS: Record<NonNullable<TopQuery['by']>, string> = {
  events: 'count()',
  persons: 'uniqExact(person)',
  value: 'sum(amount)',
};

/**
 * The statement of the commonest values of a field. First they are found, then each event is counted under its value, or with
 * the rest, so that persons are told apart for few values. Rows: TopRow.
 *
 * @param minPersons Of a field that can have values of few persons, those that fewer have are with the rest.
 */
export function topStatement(siteId: string, query: TopQuery, minPersons = 1): Statement {
  const binder = createBinder();
  const { field, by = 'events', limit = LIMIT, filters = [] } = query;
  const selection = selectionOf(query);
  const text = textOf(field, binder);
  const rows = firstRowsSql(
    {
      siteId,
      span: querySpan(query, binder),
      selections: [selection],
      conditions: [...filters.map((filter) => conditionOf(filter, binder)), selects(selection, binder)],
      columns: { found: `cityHash64(${text})`, text, person: 'actor', amount: unitsOf('value') },
    },
    binder,
  );
  const having =
    minPersons > 1 && hasSmallCountValues(field) ? ` HAVING uniqExact(person) >= ${minPersons} OR any(text) = ''` : '';
  const greatest = `SELECT found FROM counted GROUP BY found${having} ORDER BY ${RANKS[by]} DESC, any(text) LIMIT ${limit}`;
  return binder.statement(`SELECT if(slot = 0, '', any(text)) AS text, slot = 0 AS rest, if(rest, uniqExact(found), 1) AS texts, count() AS events,
  uniqExact(person) AS persons, toString(sum(amount)) AS units
FROM (WITH counted AS (${rows}) SELECT *, ${slotOf('found', greatest, limit)} AS slot FROM counted)
GROUP BY slot ORDER BY rest, slot
${SPILLED}`);
}

/** The commonest values of a field. */
export const top = question({
  kind: 'top',
  summary: 'The commonest values of a column or property',
  schema,
  answerSchema,
  example: {
    ...EXAMPLE_TIME,
    field: { property: ['utm_campaign'] },
    events: ['purchase'],
    filters: [
      { field: { person: { column: 'country' }, seen: 'first' }, is: 'equal', to: ['BE'] },
      {
        any: [
          { field: { property: ['coupon'] }, is: 'matching', to: '^(spring|summer)[0-9]+$' },
          { field: { property: ['items'], each: ['item_name'] }, is: 'containing', to: 'mug', ignore_case: true },
        ],
      },
    ],
    by: 'value',
    limit: 10,
  },
  statement: topStatement,
  answer: topAnswer,
  suppressesSmallCounts: true,
});
