import type { CorrelationPlan } from '#pipelines/query/correlation.ts';
import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { breakdownTextsSql } from './funnel_actors.ts';
import { spanOf } from './funnel_levels.ts';
import { attemptsSql } from './funnel_statement.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';
import { digestOfText, NO_DIGEST } from './text_digests.ts';

/**
 * The statement of what goes with converting, as docs/analytics.md defines it. Rows: CorrelationRow.
 *
 * @param leastPersons Of a field that can have values of few persons, those that fewer have are left out.
 */
export function correlationStatement(siteId: string, plan: CorrelationPlan, leastPersons = 1): Statement {
  const binder = createBinder();
  const rows = plan.funnels.map((funnel, field) => {
    const last = funnel.steps.length;
    const having = plan.ofEvents ? eventsSql(siteId, funnel, binder) : valuesSql(siteId, funnel, binder);
    const counted = `SELECT pair.1 AS isAll, pair.2 AS value, count() AS actors, countIf(reached[${last}]) AS converted
FROM (${having}) ARRAY JOIN arrayConcat([(1, ${NO_DIGEST})], arrayMap(x -> (0, x), having)) AS pair
GROUP BY isAll, value HAVING isAll OR actors >= ${plan.actorsMin}`;
    const texts = breakdownTextsSql(siteId, funnel, binder, leastPersons);
    return `SELECT isAll, ${field} AS field, texts.text AS text, actors, converted
FROM (${counted}) AS counted LEFT JOIN (${texts}) AS texts ON counted.value = texts.digest
WHERE counted.value = 0 OR notEmpty(texts.text)
ORDER BY isAll DESC, actors DESC, text LIMIT ${plan.candidatesMax} BY isAll`;
  });
  return binder.statement(
    `SELECT * FROM (${rows.join('\nUNION ALL\n')}) ORDER BY field, isAll DESC, actors DESC, text`,
  );
}

/** `reached` and the digest of the only value that an attempt `having` it began with. */
function valuesSql(siteId: string, funnel: FunnelPlan, binder: Binder): string {
  return `SELECT reached, [value] AS having FROM (${attemptsSql(siteId, funnel, binder)})`;
}

/**
 * `reached` and the digests of the names of events after the attempt's beginning and before its end: before the last step, or,
 * where it did not get there, within the window. What the steps name is left out, as all who convert have it.
 */
function eventsSql(siteId: string, funnel: FunnelPlan, binder: Binder): string {
  const last = funnel.steps.length;
  const starts = `[${funnel.steps.map((_, index) => `start${index + 1}`).join(', ')}]`;
  const attempts = attemptsSql(siteId, funnel, binder, [
    'digests',
    'stamp',
    `${starts}[arrayLastIndex(x -> x, reached)] AS began`,
    `if(reached[${last}], end${last}, began + ${spanOf(funnel, binder)}) AS until`,
  ]);
  const names = binder.bind([...new Set(funnel.steps.flatMap(({ events = [] }) => events))], 'Array(String)');
  return `SELECT reached, arrayDistinct(arrayFilter((x, s) -> s > began AND s < until AND NOT has(arrayMap(name -> ${digestOfText('name')}, ${names}), x), digests, stamp)) AS having
FROM (${attempts})`;
}
