// Routes of analytics queries: one for each kind of question, as questions.ts lists them, and one for SQL.

import { type Static, type TObject, type TSchema, Type } from 'typebox';
import {
  allCohorts,
  cohortProblems,
  cohortsById,
  cohortsRead,
  singlesOut,
  spanOfBoth,
  withCohorts,
} from '#pipelines/analytics/cohorts/cohort.ts';
import { withEveryName } from '#pipelines/analytics/event_names.ts';
import {
  cacheTtlMs,
  queriedSince,
  timeRead,
  withCalendar,
  withPagesOf,
  withPersonsOf,
  withPhoneHmacs,
} from '#pipelines/analytics/query_rewrites.ts';
import { type Question, queryProblems } from '#pipelines/analytics/question.ts';
import { QUESTIONS } from '#pipelines/analytics/questions.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import { calendarOf } from '#pipelines/settings/calendar.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { pageRulesOf } from '#pipelines/settings/page_rules.ts';
import { closed, idField, timeField } from '#services/control_api/fields.ts';
import {
  type Input,
  inSite,
  type Needs,
  type PreparedQuery,
  type RequestContext,
  refused,
  resource,
  route,
} from '../route.ts';
import { formatQuery, OTHER_FORMATS } from './formats.ts';

/** What a question in SQL is answered, `SqlAnswer`. */
const sqlAnswerShape = Type.Object({
  columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String({ description: "ClickHouse's name" }) })),
  rows: Type.Array(
    Type.Array(
      Type.Unknown({
        description:
          'A value of each column. Decimals, and whole numbers from 2^53 on, are texts with all their digits, and so is every whole number of 64 bits or more in a tuple or map; what is no number is null',
      }),
    ),
  ),
});

/** Of fewer a value may tell who they are. */
export const MIN_PERSONS = 5;

const queryParams = closed({ site_id: idField('The site') });

const singlesOutOf = (question: unknown, view: SettingsView, siteId: string): boolean =>
  singlesOut(question, allCohorts(question, cohortsById(view.table.cohorts(siteId))).cohorts);

/** Figures or events of many; of one person where the question names what singles one out. */
const ofPersons = (permission: Permission): Needs => ({
  ...inSite(permission),
  ...(permission === 'query.persons' ? {} : { others: ['query.persons'] }),
  choose: ({ params, body }, view) =>
    singlesOutOf(body, view, (params as Static<typeof queryParams>).site_id) ? 'query.persons' : permission,
});

const operationOf = (kind: string): string => `query${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;

/** A route that asks ClickHouse about the events of one site. */
function queryRoute(question: Question) {
  const { kind, permission = 'query.aggregates', summary, schema, answerSchema } = question;
  return route('POST', `/v1/query/{site_id}/${kind}`, operationOf(kind), {
    access: ofPersons(permission),
    summary,
    params: queryParams,
    query: formatQuery,
    body: schema,
    success: {
      status: 200,
      schema: withAsOf(answerSchema),
      description: 'The answer',
      otherwise: OTHER_FORMATS,
    },
    errors: ['site_unknown', 'cohort_unknown', 'query_pattern_invalid'],
    prepare: (input, context) => requestOf(question, input, context),
  });
}

/** What ClickHouse is asked for a query, and how its rows are answered; or why it is not asked. */
function requestOf(question: Question, input: Input, context: RequestContext): PreparedQuery {
  const { site_id: siteId } = input.params as Static<typeof queryParams>;
  const { nowMs } = context;
  const site = context.view.table.site(siteId);
  if (site === undefined) return refused('site_unknown');
  const keyed = withPhoneHmacs(input.body as Record<string, unknown>, (sha256) => context.phoneHmacs(siteId, sha256));
  // A question that names none is in the currency of the site.
  const inCurrency = question.kind === 'revenue' ? { currency: site.currency ?? '', ...keyed } : keyed;
  const query = withCalendar(inCurrency, calendarOf(site));
  const find = cohortsById(context.view.table.cohorts(siteId));
  const { cohorts, unknown } = allCohorts(query, find);
  if (unknown !== null) return refused('cohort_unknown');
  const problems = [...queryProblems(question, query), ...cohortProblems(query, cohorts.values())];
  if (problems.length > 0) return refused('settings_invalid', problems);
  const { kind, permission, suppressesSmallCounts = false } = question;
  const isCut = suppressesSmallCounts && !context.may('query.persons', { site: siteId });
  const minPersons = isCut ? MIN_PERSONS : 1;
  const reads = question.reads === undefined ? timeRead(query) : question.reads(query);
  const since = question.reads === undefined ? queriedSince(query) : (reads?.from ?? 0);
  const persons = withPersonsOf(withEveryName(query), siteId, since, nowMs);
  const cohorted = withCohorts(persons, { siteId, calendar: calendarOf(site), nowMs, find });
  // Conditions of cohorts name pages too.
  const whole = withPagesOf(cohorted, pageRulesOf(site));
  return {
    kind: 'query',
    siteId,
    about: kind,
    isShared: permission === undefined,
    ofPersons: permission !== undefined || singlesOut(query, cohorts) || (suppressesSmallCounts && !isCut),
    reads: reads === null ? cohortsRead(whole) : spanOfBoth(reads, cohortsRead(whole)),
    asked: { ...query, fresh: undefined, ...(isCut ? { minPersons } : {}) },
    statement: question.statement(siteId, whole, minPersons, nowMs),
    cacheTtlMs: cacheTtlMs(query, nowMs, cohorts.size > 0),
    answer: (rows) => question.answer(query, rows, minPersons),
  };
}

function withAsOf(answer: TObject): TSchema {
  return Type.Object({ ...answer.properties, as_of: timeField('When ClickHouse was queried') });
}

/** An example for each of them, by operation. */
export const QUERY_EXAMPLES = Object.fromEntries(QUESTIONS.map(({ kind, example }) => [operationOf(kind), example]));

const SQL_CHARACTERS_MAX = 100_000;

/** What is asked in SQL. */
const sqlShape = closed({
  sql: Type.String({
    minLength: 1,
    maxLength: SQL_CHARACTERS_MAX,
    description:
      'One SELECT of ClickHouse, without SETTINGS, FORMAT and INTO OUTFILE, of the tables that analysts read: `events`, `sessions`, ...',
  }),
});

const sqlRoute = route('POST', '/v1/query/{site_id}/sql', 'querySql', {
  access: inSite('query.sql'),
  summary: 'What an analyst asks in SQL: it sees the rows of this site, and writes nothing',
  params: queryParams,
  query: formatQuery,
  body: sqlShape,
  success: {
    status: 200,
    schema: withAsOf(sqlAnswerShape),
    description: 'The rows',
    otherwise: OTHER_FORMATS,
  },
  errors: ['site_unknown', 'sql_refused', 'sql_not_set_up'],
  prepare({ params: { site_id: siteId }, body: { sql } }, { view }) {
    if (view.table.site(siteId) === undefined) return refused('site_unknown');
    return { kind: 'sql', siteId, sql };
  },
});

export const queryRoutes = resource('Queries', [...QUESTIONS.map(queryRoute), sqlRoute]);
