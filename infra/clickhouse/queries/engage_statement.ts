import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import type { EngagePlan } from '#pipelines/query/engage_results.ts';
import { allOf, FIRST_ROW, inScope, textOf } from './conditions.ts';
import { unitsOf } from './exact_amounts.ts';
import { createBinder, type Statement } from './statement.ts';

interface KindSql {
  /** The property that names the definition. */
  definition: string;
  /** The property that names one showing. */
  showing: string;
  /** How far a showing is by an event. */
  status: string;
  /** The last status there can be, whose properties tell most and whose amount counts, in its own currency. */
  final: string;
  /** The status that tells what the final one does not, where there is none; that it was closed then says nothing of it. */
  partial: string;
  /** Of what share of showings with the first status the second is told. */
  converted: readonly [begun: string, reached: string];
  /** The facts of a showing's `told` properties, each (section, name, text, is_number). */
  facts: string;
}

const ONE = 'Tuple(String, String, String, UInt8)';

const ANSWERED = `arrayFilter(pair -> startsWith(pair.1, 'answer_') AND pair.2 != '[]', JSONExtractKeysAndValuesRaw(told))`;
/** Of each answered question that it was, and each answer by itself, of which several choices are as many. */
const ANSWERS = `arrayFlatten(arrayMap(pair -> arrayPushFront(arrayMap(raw -> ('answer', substring(pair.1, 8),
    if(JSONType(raw) = 'String', JSONExtractString(raw), raw), toUInt8(JSONType(raw) IN ('Int64', 'UInt64', 'Double'))),
  if(JSONType(pair.2) = 'Array', JSONExtractArrayRaw(pair.2), [pair.2])), ('question', substring(pair.1, 8), '', 0)), ${ANSWERED}))`;
const NPS_CLASS = "JSONExtractString(told, 'nps_class')";
const SOURCE = `if(JSONExtractString(told, 'utm_source') != '', JSONExtractString(told, 'utm_source'),
  domainWithoutWWW(JSONExtractString(told, '$referrer')))`;

const KINDS: Record<EngageKind, KindSql> = {
  survey: {
    definition: 'survey_id',
    showing: 'submission_id',
    status: "JSONExtractString(properties, 'survey_status')",
    final: 'completed',
    partial: 'partial',
    converted: ['shown', 'completed'],
    facts: `arrayConcat(if(hasAny(reached, ['partial', 'completed']), [('status', 'answered', '', 0)], []), ${ANSWERS},
      if(${NPS_CLASS} = '', [], [('nps', ${NPS_CLASS}, '', 0)]))`,
  },
  promo: {
    definition: 'promotion_id',
    showing: 'impression_id',
    status: 'event',
    final: 'promotion_redeemed',
    partial: '',
    converted: ['view_promotion', 'select_promotion'],
    facts: '[]',
  },
  form: {
    definition: 'form_id',
    showing: 'submission_id',
    status: "multiIf(event = 'form_shown', 'shown', event = 'form_dismissed', 'dismissed', 'submitted')",
    final: 'submitted',
    partial: '',
    converted: ['shown', 'submitted'],
    facts: `if(has(reached, 'submitted'), [('source', '', ${SOURCE}, 0)], [])`,
  },
};

/**
 * The statement of the results of a survey, promo or form. Rows: EngageRow. Each showing counts once: by how far it came, and by the
 * properties of its final event, else of its last one that holds answers. Events that others name alike, as GA4's form_start
 * and view_promotion, are none of a showing: the id of one of ours begins with its showing's and the item's, which no event sent
 * otherwise may have.
 */
export function engageStatement(siteId: string, plan: EngagePlan): Statement {
  const binder = createBinder();
  const { definition, showing, status, final, partial, converted, facts } = KINDS[plan.kind];
  const [begun, end] = converted;
  const isWanted = `${textOf({ property: [definition] }, binder)} = ${binder.bind(plan.id, 'String')}`;
  const ofShowing = textOf({ property: [showing] }, binder);
  const isOurs = `${ofShowing} != '' AND startsWith(event_id, concat(${ofShowing}, ${binder.bind(`:${itemName(plan.kind, plan.id)}:`, 'String')}))`;
  const wanted = allOf([...inScope(siteId, plan, binder), isWanted, isOurs]);
  const rows =
    binder.withNames(`SELECT argMin(tuple(${ofShowing}, person_id, ${status}, properties, ${unitsOf('value')}, timestamp, currency), ${FIRST_ROW}) AS first
    FROM event_rows WHERE ${wanted} GROUP BY event_id`);
  const once = `SELECT first.1 AS showing, first.2 AS person, first.3 AS status, first.4 AS properties, first.5 AS amount, first.6 AS at, first.7 AS currency FROM (${rows})`;
  const showings = `SELECT max(person) AS who, groupUniqArray(status) AS reached, argMax(properties, tuple(status = '${final}', status = '${partial}', at)) AS told,
    maxIf(amount, status = '${final}') AS worth, maxIf(currency, status = '${final}') AS money
  FROM (${once}) GROUP BY showing`;
  const told = `SELECT who, worth, money, arrayJoin(arrayConcat(arrayMap(one -> ('status', one, '', 0), reached),
    if(hasAll(reached, ['${begun}', '${end}']), [('converted', '', '', 0)], []), CAST(${facts}, 'Array(${ONE})'))) AS fact
  FROM (${showings})`;
  const byCurrency = `SELECT fact.1 AS section, fact.2 AS name, fact.3 AS text, fact.4 AS is_number, money, count() AS showings,
    uniqExactState(who) AS whom, sum(worth) AS added
  FROM (${told}) GROUP BY section, name, text, is_number, money`;
  const counted = `SELECT section, name, text, is_number, sum(showings) AS times, uniqExactMerge(whom) AS persons,
    arraySort(groupArrayIf(tuple(money, toString(added)), added != 0)) AS amounts
  FROM (${byCurrency}) GROUP BY section, name, text, is_number`;
  return binder.statement(`SELECT section, name, text, is_number, times, persons, amounts, texts, all_times, numbers, total
FROM (SELECT *, row_number() OVER (PARTITION BY section, name ORDER BY times DESC, text, is_number) AS place,
    count() OVER (PARTITION BY section, name) AS texts, sum(times) OVER (PARTITION BY section, name) AS all_times,
    sumIf(times, is_number = 1) OVER (PARTITION BY section, name) AS numbers,
    sumIf(toFloat64OrZero(text) * times, is_number = 1) OVER (PARTITION BY section, name) AS total
  FROM (${counted}))
WHERE place <= ${plan.limit}
ORDER BY section, name, place`);
}
