import type { TopPlan } from '#pipelines/query/top.ts';
import { conditionOf, selects, textOf } from './conditions.ts';
import { unitsOf } from './exact_amounts.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { createBinder, type Statement } from './statement.ts';

/** The statement of the commonest values of a field. Rows: TopRow. */
export function topStatement(siteId: string, plan: TopPlan): Statement {
  const binder = createBinder();
  const { selection, filters } = plan;
  const by = { events: 'counted', persons: 'finalizeAggregation(people)', value: 'added' }[plan.by];
  const rows = firstRowsSql(
    {
      siteId,
      span: askedSpan(plan, binder),
      selections: [selection],
      conditions: [...filters.map((filter) => conditionOf(filter, binder)), selects(selection, binder)],
      columns: { found: textOf(plan.field, binder), person: 'actor', amount: unitsOf('value') },
    },
    binder,
  );
  return binder.statement(`SELECT name AS text, isRest AS rest, count() AS texts, sum(counted) AS events,
  uniqExactMerge(people) AS persons, toString(sum(added)) AS units
FROM (SELECT *, row_number() OVER (ORDER BY ${by} DESC, found) AS place, place > ${plan.limit} AS isRest, if(isRest, '', found) AS name
  FROM (SELECT found, count() AS counted, uniqExactState(person) AS people, sum(amount) AS added FROM (${rows}) GROUP BY found))
GROUP BY name, isRest ORDER BY min(place)
${SPILLED}`);
}
