import { hasValuesOfFew } from '#pipelines/query/personal_fields.ts';
import type { TopPlan } from '#pipelines/query/top.ts';
import { conditionOf, selects, textOf } from './conditions.ts';
import { unitsOf } from './exact_amounts.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { slotOf } from './slots.ts';
import { createBinder, type Statement } from './statement.ts';

const RANKS: Record<TopPlan['by'], string> = {
  events: 'count()',
  persons: 'uniqExact(person)',
  value: 'sum(amount)',
};

/**
 * The statement of the commonest values of a field. First they are found, then each event is counted under its value, or with
 * the rest, so that persons are told apart for few values. Rows: TopRow.
 *
 * @param leastPersons Of a field that can have values of few persons, those that fewer have are with the rest.
 */
export function topStatement(siteId: string, plan: TopPlan, leastPersons = 1): Statement {
  const binder = createBinder();
  const { selection, filters } = plan;
  const text = textOf(plan.field, binder);
  const rows = firstRowsSql(
    {
      siteId,
      span: askedSpan(plan, binder),
      selections: [selection],
      conditions: [...filters.map((filter) => conditionOf(filter, binder)), selects(selection, binder)],
      columns: { found: `cityHash64(${text})`, text, person: 'actor', amount: unitsOf('value') },
    },
    binder,
  );
  const having =
    leastPersons > 1 && hasValuesOfFew(plan.field)
      ? ` HAVING uniqExact(person) >= ${leastPersons} OR any(text) = ''`
      : '';
  const greatest = `SELECT found FROM counted GROUP BY found${having} ORDER BY ${RANKS[plan.by]} DESC, any(text) LIMIT ${plan.limit}`;
  return binder.statement(`SELECT if(slot = 0, '', any(text)) AS text, slot = 0 AS rest, if(rest, uniqExact(found), 1) AS texts, count() AS events,
  uniqExact(person) AS persons, toString(sum(amount)) AS units
FROM (WITH counted AS (${rows}) SELECT *, ${slotOf('found', greatest, plan.limit)} AS slot FROM counted)
GROUP BY slot ORDER BY rest, slot
${SPILLED}`);
}
