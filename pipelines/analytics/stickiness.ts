// Stickiness: the question, its statement and its answer.

import { type Static, Type } from 'typebox';
import { closed } from './filters.ts';
import {
  calendarFields,
  common,
  cutOf,
  EXAMPLE_TIME,
  longInterval,
  question,
  SERIES_MAX,
  selectionShape,
} from './question.ts';
import { calendarSql, differentPlaces, firstRowsSql, intervalsUntil, querySpan, SPILLED } from './sql/event_rows.ts';
import { conditionOf, selects } from './sql/expressions.ts';
import { createBinder, type Statement } from './sql/statement.ts';

const schema = closed({
  ...common,
  interval: longInterval,
  ...calendarFields,
  series: Type.Array(selectionShape, { minItems: 1, maxItems: SERIES_MAX }),
});
export type StickinessQuery = Static<typeof schema>;

interface StickinessRow {
  /** From 1; 0: `active` is how many intervals the whole time has. */
  series: number;
  /** In how many intervals these persons had an event. */
  active: number;
  persons: number;
}

/** The answer to stickiness. */
const answerSchema = Type.Object({
  intervals: Type.Integer({ description: 'How many intervals the time has, parts of one included' }),
  series: Type.Array(
    Type.Object({
      persons: Type.Integer({ description: 'Who had such an event' }),
      active: Type.Array(
        Type.Object({
          intervals: Type.Integer({ minimum: 1 }),
          persons: Type.Integer({ description: 'Who had such an event in so many intervals' }),
          persons_at_least: Type.Integer({ description: 'Who had one in so many intervals or more' }),
        }),
        { description: 'From one interval to the most that anybody has' },
      ),
    }),
  ),
});
export type StickinessAnswer = Static<typeof answerSchema>;

/** The answer from the rows of the statement. */
function stickinessAnswer(query: StickinessQuery, rows: readonly StickinessRow[]): StickinessAnswer {
  const bySeries = Map.groupBy(rows, ({ series }) => series);
  return {
    intervals: bySeries.get(0)?.[0]?.active ?? 0,
    series: query.series.map((_, index) => seriesOf(bySeries.get(index + 1) ?? [])),
  };
}

function seriesOf(rows: readonly StickinessRow[]): StickinessAnswer['series'][number] {
  const counts = new Map(rows.map(({ active, persons }) => [active, persons]));
  const most = Math.max(0, ...counts.keys());
  const all = rows.reduce((sum, { persons }) => sum + persons, 0);
  let fewer = 0;
  const active = Array.from({ length: most }, (_, at) => {
    const persons = counts.get(at + 1) ?? 0;
    const atLeast = all - fewer;
    fewer += persons;
    return { intervals: at + 1, persons, persons_at_least: atLeast };
  });
  return { persons: all, active };
}

/** The statement of stickiness. Rows: StickinessRow. */
function stickinessStatement(siteId: string, query: StickinessQuery): Statement {
  const binder = createBinder();
  const plan = cutOf(query);
  const { series } = query;
  const span = querySpan(plan, binder);
  const isOne = series.length === 1;
  const conditions = series.map((one) => selects(one, binder));
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const place = intervalsUntil(plan.interval, { from: span.from, to: 'timestamp' }, plan.calendar, binder);
  const events = firstRowsSql(
    {
      siteId,
      span,
      selections: series,
      conditions: [...filters, `(${conditions.join(' OR ')})`],
      columns: {
        person: 'actor',
        place,
        // Of one series all events are: a list of those that each is of would take longer than reading it.
        ...(isOne ? {} : { matched: `[${conditions.map((condition) => `toBool(${condition})`).join(', ')}]` }),
      },
    },
    binder,
  );
  const eachOf = isOne
    ? `(SELECT toUInt32(1) AS series, * FROM (${events}))`
    : `(${events}) ARRAY JOIN arrayEnumerate(matched) AS series WHERE matched[series]`;
  const persons = `SELECT series, length(${differentPlaces(plan, 0)}) AS active FROM ${eachOf} GROUP BY series, person`;
  return binder.statement(`SELECT * FROM (SELECT series, active, count() AS persons FROM (${persons}) GROUP BY series, active
UNION ALL SELECT 0, count(), 0 FROM (${calendarSql([span], plan, binder)}))
${SPILLED}`);
}

/** In how many intervals persons are active. */
export const stickiness = question({
  kind: 'stickiness',
  summary: 'In how many intervals persons have an event',
  schema,
  answerSchema,
  example: { ...EXAMPLE_TIME, interval: 'day', series: [{ events: ['page_view'] }] },
  statement: stickinessStatement,
  answer: stickinessAnswer,
});
