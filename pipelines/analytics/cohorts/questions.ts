// Questions about cohorts themselves: how many persons are in some, and who is in one.

import { type Static, Type } from 'typebox';
import { ID_PATTERN, type Problem, problem } from '#pipelines/settings/problems.ts';
import { closed } from '../filters.ts';
import { common, limitOf, question } from '../question.ts';
import { EVENT_BY_HASH, FIRST_ROW, SPILLED } from '../sql/event_rows.ts';
import { conditionOf } from '../sql/expressions.ts';
import { type Binder, createBinder, JOINS, type Statement } from '../sql/statement.ts';
import { type CohortCondition, type CohortRule, conditionsFields, conditionsProblems } from './cohort.ts';

export const SIZES_MAX = 20;
const LISTED = 1_000;

const cohort = Type.String({ description: 'The cohort', pattern: ID_PATTERN.source });

const sizesShape = closed({
  of: Type.Array(
    Type.Union([closed({ cohort }), closed({ ...conditionsFields, conditions: conditionsFields.conditions })]),
    { description: 'Cohorts of the site, or conditions of one that is not saved', minItems: 1, maxItems: SIZES_MAX },
  ),
  fresh: common.fresh,
});
type SizesQuery = Static<typeof sizesShape>;

const sizesAnswerShape = Type.Object({
  cohorts: Type.Array(
    Type.Object({
      persons: Type.Integer({ description: 'Persons in it of whom an event is stored' }),
      listed: Type.Union([Type.Integer(), Type.Null()], { description: 'Members of its list; null: it is none' }),
    }),
    { description: 'In the order in which they were asked for' },
  ),
});

/** Of each cohort how many persons it has, and how many members its list; -1: it is none. */
interface SizesRow {
  persons: number[];
  listed: number[];
}

const ruleOf = (of: object): CohortRule => {
  if ('rule' in of) return of.rule as CohortRule;
  throw new Error('nobody has said who is in the cohort');
};

const isIn = (rule: CohortRule, binder: Binder): string =>
  conditionOf({ field: { cohort: '', rule }, is: 'in' }, binder);

function sizesStatement(siteId: string, { of }: SizesQuery): Statement {
  const binder = createBinder();
  const rules = of.map(ruleOf);
  const site = `site_id = ${binder.bind(siteId, 'String')}`;
  const persons = rules.map((rule) => `uniqExactIf(actor, ${isIn(rule, binder)})`);
  const listed = rules.map((rule) =>
    'list' in rule
      ? `toInt64((SELECT uniqExact(kind, value) FROM cohort_members WHERE ${site} AND list = ${binder.bind(rule.list, 'String')}))`
      : 'toInt64(-1)',
  );
  const select = `SELECT [${persons.join(', ')}] AS persons, [${listed.join(', ')}] AS listed FROM event_rows${JOINS} WHERE ${site}`;
  return binder.statement(`${binder.withNames(select)}\n${SPILLED}`);
}

function sizesProblems({ of }: SizesQuery): Problem[] {
  return of.flatMap((one, at) => {
    if ('cohort' in one) return [];
    const { conditions } = one;
    if (conditions === undefined) return [problem('field_malformed', `of[${at}].conditions`, 'are needed')];
    return conditionsProblems(conditions as CohortCondition[]).map(({ code, field, message }) =>
      problem(code, `of[${at}].${field}`, message),
    );
  });
}

/** How many persons are in cohorts. */
export const cohorts = question({
  kind: 'cohorts',
  summary: 'How many persons are in some cohorts, or would be in one by conditions',
  schema: sizesShape,
  answerSchema: sizesAnswerShape,
  check: sizesProblems,
  example: {
    of: [
      {
        conditions: [
          { did: { events: ['purchase'] }, times: 3, last_days: 90 },
          { did: {}, is: 'exactly', times: 0, last_days: 14 },
        ],
      },
    ],
  },
  statement: sizesStatement,
  answer: (_query, [row]: readonly SizesRow[]) => ({
    cohorts: (row?.persons ?? []).map((persons, at) => {
      const listed = row?.listed[at] ?? -1;
      return { persons, listed: listed < 0 ? null : listed };
    }),
  }),
  // Who is in none has to be known, too.
  reads: () => ({ from: 0, to: Number.MAX_SAFE_INTEGER }),
});

const membersShape = closed({
  cohort,
  limit: limitOf(LISTED),
  after: Type.Optional(Type.String({ description: 'next of the page before', pattern: '^[0-9]{1,20}$' })),
});
type MembersQuery = Static<typeof membersShape>;

const timeShape = (description: string) =>
  Type.Integer({ description: `${description}, in milliseconds since 1970 UTC` });
const membersAnswerShape = Type.Object({
  total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Persons in the cohort; null on a page beyond the last',
  }),
  members: Type.Array(
    Type.Object({
      person_id: Type.String({ description: 'As known now' }),
      distinct_id: Type.String({ description: 'Of the last event' }),
      email_sha256: Type.String({ description: 'The last that an event says; empty where none does' }),
      events: Type.Integer(),
      first_seen: timeShape('When the first event happened'),
      last_seen: timeShape('When the last one did'),
    }),
    { description: 'In an order that no later event changes' },
  ),
  next: Type.Union([Type.String(), Type.Null()], { description: 'For after; null on the last page' }),
});
interface MemberRow {
  actor: string;
  total: number;
  last: [person: string, distinctId: string];
  email: string;
  events: number;
  first_seen: number;
  last_seen: number;
}

/** One more than the page has, as who is in a part of a chart is listed. */
function membersStatement(siteId: string, query: MembersQuery): Statement {
  const binder = createBinder();
  const { limit = LISTED, after } = query;
  const wanted = `site_id = ${binder.bind(siteId, 'String')} AND ${isIn(ruleOf(query), binder)}`;
  const rows = binder.withNames(`SELECT actor, argMax((person_id, distinct_id), ${FIRST_ROW}) AS last,
    argMaxIf(email_sha256, ${FIRST_ROW}, email_sha256 != '') AS email, uniqExact(${EVENT_BY_HASH}) AS events,
    toUnixTimestamp64Milli(min(timestamp)) AS first_seen, toUnixTimestamp64Milli(max(timestamp)) AS last_seen, count() OVER () AS total
  FROM event_rows${JOINS} WHERE ${wanted} GROUP BY actor`);
  const behind = after === undefined ? '' : ` WHERE actor > ${binder.bind(after, 'UInt64')}`;
  return binder.statement(`SELECT * REPLACE (toString(actor) AS actor) FROM (SELECT * FROM (${rows})${behind} ORDER BY actor LIMIT ${limit + 1})
ORDER BY toUInt64(actor)\n${SPILLED}`);
}

const UINT64_MAX = 2n ** 64n - 1n;

/** Who is in a cohort. */
export const members = question({
  kind: 'members',
  summary: 'Who is in a cohort, page by page',
  permission: 'query.persons',
  schema: membersShape,
  answerSchema: membersAnswerShape,
  check: ({ after = '0' }) =>
    BigInt(after) <= UINT64_MAX ? [] : [problem('field_malformed', 'after', 'is of no page')],
  example: { cohort: 'regulars', limit: 500 },
  statement: membersStatement,
  answer({ limit = LISTED, after }: MembersQuery, rows: readonly MemberRow[]) {
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      total: rows[0]?.total ?? (after === undefined ? 0 : null),
      members: page.map(({ last: [person_id, distinct_id], email, events, first_seen, last_seen }) => ({
        ...{ person_id, distinct_id, email_sha256: email, events, first_seen, last_seen },
      })),
      next: last === undefined || rows.length <= limit ? null : last.actor,
    };
  },
  reads: () => ({ from: 0, to: Number.MAX_SAFE_INTEGER }),
});
