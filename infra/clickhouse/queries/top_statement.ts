import type { TopPlan } from '#pipelines/query/top.ts';
import { allOf, FIRST_ROW, inScope, selects, textOf } from './conditions.ts';
import { unitsOf } from './exact_amounts.ts';
import { createBinder, type Statement } from './statement.ts';

/** The statement of the commonest values of a field. Rows: TopRow. */
export function topStatement(siteId: string, plan: TopPlan): Statement {
  const binder = createBinder();
  const by = { events: 'counted', persons: 'finalizeAggregation(people)', value: 'added' }[plan.by];
  return binder.statement(`SELECT name AS text, isRest AS rest, count() AS texts, sum(counted) AS events,
  uniqExactMerge(people) AS persons, toString(sum(added)) AS units
FROM (SELECT *, row_number() OVER (ORDER BY ${by} DESC, value) AS place, place > ${plan.limit} AS isRest, if(isRest, '', value) AS name
  FROM (SELECT first.1 AS value, count() AS counted, uniqExactState(first.2) AS people, sum(first.3) AS added
    FROM (SELECT argMin(tuple(${textOf(plan.field, binder)}, person_id, ${unitsOf('value')}), ${FIRST_ROW}) AS first
      FROM event_rows WHERE ${allOf([...inScope(siteId, plan, binder), selects(plan.selection, binder)])} GROUP BY event_id)
    GROUP BY value))
GROUP BY name, isRest ORDER BY min(place)`);
}
