import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
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
  /** The status whose properties tell most, and whose amount counts. */
  final: string;
  /** The facts of a showing's `told` properties, each (section, name, text, is_number). */
  facts: string;
}

const ONE = 'Tuple(String, String, String, UInt8)';

const ANSWERS = `arrayFlatten(arrayMap(pair -> arrayMap(raw -> ('answer', substring(pair.1, 8),
    if(JSONType(raw) = 'String', JSONExtractString(raw), raw), toUInt8(JSONType(raw) IN ('Int64', 'UInt64', 'Double'))),
  if(JSONType(pair.2) = 'Array', JSONExtractArrayRaw(pair.2), [pair.2])),
  arrayFilter(pair -> startsWith(pair.1, 'answer_'), JSONExtractKeysAndValuesRaw(told))))`;
const NPS_CLASS = "JSONExtractString(told, 'nps_class')";
const SOURCE = `if(JSONExtractString(told, 'utm_source') != '', JSONExtractString(told, 'utm_source'),
  domainWithoutWWW(JSONExtractString(told, 'referrer')))`;

const KINDS: Record<EngageKind, KindSql> = {
  survey: {
    definition: 'survey_id',
    showing: 'submission_id',
    status: "JSONExtractString(properties, 'survey_status')",
    final: 'completed',
    facts: `arrayConcat(if(hasAny(reached, ['partial', 'completed']), [('status', 'answered', '', 0)], []), ${ANSWERS},
      if(${NPS_CLASS} = '', [], [('nps', ${NPS_CLASS}, '', 0)]))`,
  },
  promo: {
    definition: 'promotion_id',
    showing: 'impression_id',
    status: 'event',
    final: 'promotion_redeemed',
    facts: '[]',
  },
  form: {
    definition: 'form_id',
    showing: 'submission_id',
    status: "multiIf(event = 'form_shown', 'shown', event = 'form_dismissed', 'dismissed', 'submitted')",
    final: 'submitted',
    facts: `if(has(reached, 'submitted'), [('source', '', ${SOURCE}, 0)], [])`,
  },
};

/**
 * The statement of the results of a survey, promo or form. Rows: EngageRow. Each showing counts once: by how far it came, and by the
 * properties of its last event, of which a final one is later than every other. Events that others name alike, as GA4's form_start
 * and view_promotion, are none of a showing: the id of one of ours begins with its showing's.
 */
export function engageStatement(siteId: string, plan: EngagePlan): Statement {
  const binder = createBinder();
  const { definition, showing, status, final, facts } = KINDS[plan.kind];
  const isWanted = `${textOf({ property: [definition] }, binder)} = ${binder.bind(plan.id, 'String')}`;
  const ofShowing = textOf({ property: [showing] }, binder);
  const isOurs = `${ofShowing} != '' AND startsWith(event_id, ${ofShowing})`;
  const rows = allOf([...inScope(siteId, plan, binder), isWanted, isOurs]);
  const once = `SELECT first.1 AS showing, first.2 AS person, first.3 AS status, first.4 AS properties, first.5 AS amount, first.6 AS at
  FROM (SELECT argMin(tuple(${ofShowing}, person_id, ${status}, properties, ${unitsOf('value')}, timestamp), ${FIRST_ROW}) AS first
    FROM event_rows WHERE ${rows} GROUP BY event_id)`;
  const showings = `SELECT max(person) AS who, groupUniqArray(status) AS reached, argMax(properties, tuple(status = '${final}', at)) AS told,
    maxIf(amount, status = '${final}') AS worth
  FROM (${once}) GROUP BY showing`;
  const told = `SELECT who, worth, arrayJoin(arrayConcat(arrayMap(one -> ('status', one, '', 0), reached), CAST(${facts}, 'Array(${ONE})'))) AS fact
  FROM (${showings})`;
  const counted = `SELECT fact.1 AS section, fact.2 AS name, fact.3 AS text, fact.4 AS is_number, count() AS times,
    uniqExact(who) AS persons, sum(worth) AS added
  FROM (${told}) GROUP BY section, name, text, is_number`;
  return binder.statement(`SELECT section, name, text, is_number, times, persons, toString(added) AS units, texts, all_times
FROM (SELECT *, row_number() OVER (PARTITION BY section, name ORDER BY times DESC, text, is_number) AS place,
    count() OVER (PARTITION BY section, name) AS texts, sum(times) OVER (PARTITION BY section, name) AS all_times
  FROM (${counted}))
WHERE place <= ${plan.limit}
ORDER BY section, name, place`);
}
