// Results of surveys, promos and forms.

import { type Static, Type } from 'typebox';
import { type EngageKind, itemName } from '#pipelines/engage/definition_fields.ts';
import { closed } from './filters.ts';
import { common, EXAMPLE_TIME, limitOf, question, scopeOf } from './question.ts';
import { FIRST_ROW } from './sql/event_rows.ts';
import { AMOUNT_UNITS, allOf, inScope, textOf, unitsOf } from './sql/expressions.ts';
import { createBinder, JOINS, type Statement } from './sql/statement.ts';

const VALUES = 50;

const schema = closed({
  ...common,
  id: Type.String({ pattern: '^[a-z0-9_-]{1,64}$', description: 'Of the survey, promo or form' }),
  limit: limitOf(VALUES, 'Values of each question, or sources'),
});
type EngageQuery = Static<typeof schema>;

/** What one submission or impression says, counted. `name` is a status or a question, by the section. */
interface EngageRow {
  section: 'status' | 'converted' | 'question' | 'answer' | 'nps' | 'source';
  name: string;
  text: string;
  /** 1: the text is a number. */
  is_number: number;
  times: number;
  persons: number;
  /** What it brought in: currency and units of amount, by currency. */
  amounts: [currency: string, units: string][];
  /** Different texts of the name, and all their times. */
  texts: number;
  all_times: number;
  /** Of the name's texts that are numbers, how often they came, and their sum. */
  numbers: number;
  total: number;
}

const reachedShape = Type.Object({
  times: Type.Integer({ minimum: 0, description: 'Showings: each counts once, however often it was reported' }),
  persons: Type.Integer({ minimum: 0 }),
});
const share = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description: `${description}; null where none was`,
  });
const value = Type.Object({ value: Type.String(), ...reachedShape.properties });

const worth = {
  sums: Type.Array(
    Type.Object({ currency: Type.String({ description: 'Empty: none was said' }), sum: Type.Number() }),
    { description: 'Of value, by currency; money of different currencies is never added' },
  ),
};

/** The answer about a survey. */
const surveySchema = Type.Object({
  shown: reachedShape,
  answered: reachedShape,
  completed: reachedShape,
  dismissed: reachedShape,
  completion: share('Of those shown how many were completed'),
  nps: Type.Union(
    [
      Type.Object({
        promoters: Type.Integer(),
        passives: Type.Integer(),
        detractors: Type.Integer(),
        score: Type.Number({ minimum: -100, maximum: 100 }),
      }),
      Type.Null(),
    ],
    { description: 'Of the first question from 0 to 10; null where there are no answers' },
  ),
  questions: Type.Array(
    Type.Object({
      id: Type.String(),
      answers: Type.Integer({ description: 'Of several choices each is one' }),
      respondents: reachedShape,
      average: Type.Union([Type.Number(), Type.Null()], {
        description: 'Of the answers that are numbers; null where none was',
      }),
      values: Type.Array(value, { description: 'The commonest first' }),
      more_values: Type.Boolean(),
    }),
  ),
});
export type SurveyResults = Static<typeof surveySchema>;

/** The answer about a promo. */
const promoSchema = Type.Object({
  viewed: reachedShape,
  clicked: reachedShape,
  dismissed: reachedShape,
  code_copied: reachedShape,
  redeemed: Type.Object({ ...reachedShape.properties, ...worth }),
  conversion: share('Of those viewed how many were clicked'),
});
export type PromoResults = Static<typeof promoSchema>;

/** The answer about a form. */
const formSchema = Type.Object({
  shown: reachedShape,
  submitted: Type.Object({ ...reachedShape.properties, ...worth }),
  unshown: Type.Integer({
    minimum: 0,
    description: 'Of those submitted how many a script did not show in this time, as plain forms',
  }),
  dismissed: reachedShape,
  conversion: share('Of those shown how many were submitted'),
  sources: Type.Array(Type.Object({ ...value.properties, ...worth }), {
    description: 'Where leads came from: utm_source, else the host of the referrer; empty where neither is known',
  }),
  more_sources: Type.Boolean(),
});
export type FormResults = Static<typeof formSchema>;

/** @param minPersons Fewest persons who must have given an answer for it to be named: of fewer it may be what somebody wrote. */
function surveyResults(_query: EngageQuery, rows: readonly EngageRow[], minPersons: number): SurveyResults {
  const of = statuses(rows);
  const answers = rows.filter(({ section }) => section === 'answer');
  const questions = [...Map.groupBy(answers, ({ name }) => name)].map(([id, values]) =>
    questionOf(id, values, rows, minPersons),
  );
  return {
    shown: of('shown'),
    answered: of('answered'),
    completed: of('completed'),
    dismissed: of('dismissed'),
    completion: shareOf(rows, of('shown')),
    nps: npsOf(rows, minPersons),
    questions,
  };
}

function promoResults(_query: EngageQuery, rows: readonly EngageRow[]): PromoResults {
  const of = statuses(rows);
  return {
    viewed: of('view_promotion'),
    clicked: of('select_promotion'),
    dismissed: of('promotion_dismissed'),
    code_copied: of('promotion_code_copied'),
    redeemed: { ...of('promotion_redeemed'), sums: sumsOf(statusRow(rows, 'promotion_redeemed')) },
    conversion: shareOf(rows, of('view_promotion')),
  };
}

/** @param minPersons Fewest persons who must have come from a source for it to be named: of fewer its sums are what somebody told. */
function formResults(_query: EngageQuery, rows: readonly EngageRow[], minPersons: number): FormResults {
  const of = statuses(rows);
  const all = rows.filter(({ section }) => section === 'source');
  const sources = all.filter(({ persons }) => persons >= minPersons);
  return {
    shown: of('shown'),
    submitted: { ...of('submitted'), sums: sumsOf(statusRow(rows, 'submitted')) },
    unshown: of('submitted').times - convertedOf(rows),
    dismissed: of('dismissed'),
    conversion: shareOf(rows, of('shown')),
    sources: sources.map((row) => ({ value: row.text, times: row.times, persons: row.persons, sums: sumsOf(row) })),
    more_sources: (all[0]?.texts ?? 0) > sources.length,
  };
}

type Reached = Static<typeof reachedShape>;

const statusRow = (rows: readonly EngageRow[], status: string): EngageRow | undefined =>
  rows.find(({ section, name }) => section === 'status' && name === status);

function statuses(rows: readonly EngageRow[]): (name: string) => Reached {
  return (name) => {
    const row = statusRow(rows, name);
    return { times: row?.times ?? 0, persons: row?.persons ?? 0 };
  };
}

const sumsOf = (row: EngageRow | undefined): { currency: string; sum: number }[] =>
  (row?.amounts ?? []).map(([currency, units]) => ({ currency, sum: Number(units) / AMOUNT_UNITS }));

/** Showings that were begun and came to what is wanted, both in the time that is asked about: none is more than was begun. */
const convertedOf = (rows: readonly EngageRow[]): number =>
  rows.find(({ section }) => section === 'converted')?.times ?? 0;

const shareOf = (rows: readonly EngageRow[], { times }: Reached): number | null =>
  times === 0 ? null : convertedOf(rows) / times;

function questionOf(
  id: string,
  values: readonly EngageRow[],
  rows: readonly EngageRow[],
  minPersons: number,
): SurveyResults['questions'][number] {
  const respondents = rows.find(({ section, name }) => section === 'question' && name === id);
  const { numbers = 0, total = 0 } = values[0] ?? {};
  const told = values.filter(({ persons }) => persons >= minPersons);
  return {
    id,
    answers: values[0]?.all_times ?? 0,
    respondents: { times: respondents?.times ?? 0, persons: respondents?.persons ?? 0 },
    average: numbers === 0 || (respondents?.persons ?? 0) < minPersons ? null : total / numbers,
    values: told.map(({ text, times, persons }) => ({ value: text, times, persons })),
    more_values: (values[0]?.texts ?? 0) > told.length,
  };
}

/** Promoters' share less detractors', from -100 to 100. */
function npsOf(rows: readonly EngageRow[], minPersons: number): SurveyResults['nps'] {
  const given = rows.filter(({ section }) => section === 'nps');
  const of = (name: string): number => given.find((row) => row.name === name)?.times ?? 0;
  const [promoters, passives, detractors] = [of('promoter'), of('passive'), of('detractor')];
  const all = promoters + passives + detractors;
  const persons = given.reduce((sum, row) => sum + row.persons, 0);
  if (all === 0 || persons < minPersons) return null;
  return { promoters, passives, detractors, score: ((promoters - detractors) / all) * 100 };
}

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
 * The statement of the results of a survey, promo or form. Rows: EngageRow. Each showing counts once: by how far it came,
 * and by the properties of its final event, else of its last one that holds answers. Events that others name alike, as
 * GA4's form_start and view_promotion, are none of a showing: the id of one of ours begins with its showing's and the
 * item's, which no event sent otherwise may have.
 */
function engageStatement(kind: EngageKind, siteId: string, query: EngageQuery): Statement {
  const binder = createBinder();
  const { id, limit = VALUES } = query;
  const { definition, showing, status, final, partial, converted, facts } = KINDS[kind];
  const [begun, end] = converted;
  const isWanted = `${textOf({ property: [definition] }, binder)} = ${binder.bind(id, 'String')}`;
  const ofShowing = textOf({ property: [showing] }, binder);
  const isOurs = `${ofShowing} != '' AND startsWith(sent_id, concat(${ofShowing}, ${binder.bind(`:${itemName(kind, id)}:`, 'String')}))`;
  const wanted = allOf([...inScope(siteId, scopeOf(query), binder), isWanted, isOurs]);
  const rows =
    binder.withNames(`SELECT argMin(tuple(${ofShowing}, person_id, ${status}, properties, ${unitsOf('value')}, timestamp, currency), ${FIRST_ROW}) AS first
    FROM event_rows${JOINS} WHERE ${wanted} GROUP BY sent_id`);
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
WHERE place <= ${limit}
ORDER BY section, name, place`);
}

/** How a survey was answered. */
export const survey = question({
  kind: 'survey',
  summary: 'How a survey was answered, question by question',
  schema,
  answerSchema: surveySchema,
  example: { ...EXAMPLE_TIME, id: 'after-purchase' },
  statement: (siteId, query) => engageStatement('survey', siteId, query),
  answer: surveyResults,
  suppressesSmallCounts: true,
});

/** What a promo came to. */
export const promo = question({
  kind: 'promo',
  summary: 'How often a promo was seen, clicked and redeemed',
  schema,
  answerSchema: promoSchema,
  example: { ...EXAMPLE_TIME, id: 'winter-sale' },
  statement: (siteId, query) => engageStatement('promo', siteId, query),
  answer: promoResults,
});

/** What a form came to. */
export const form = question({
  kind: 'form',
  summary: 'How often a form was sent, and where its leads came from',
  schema,
  answerSchema: formSchema,
  example: { ...EXAMPLE_TIME, id: 'quote', limit: 10 },
  statement: (siteId, query) => engageStatement('form', siteId, query),
  answer: formResults,
  suppressesSmallCounts: true,
});
