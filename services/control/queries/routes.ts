// Routes of analytics queries: what each is asked, by which statement, and how its rows are answered; SQL beside them.

import { type Static, type TObject, type TSchema, type TUnion, Type } from 'typebox';
import type { Span } from '#infra/clickhouse/select_rows.ts';
import {
  type CorrelationPlan,
  type CorrelationRow,
  correlationAnswer,
  correlationAnswerShape,
  correlationPlan,
  correlationProblems,
  correlationShape,
  correlationStatement,
} from '#pipelines/analytics/correlation.ts';
import {
  type EngagePlan,
  type EngageRow,
  engagePlan,
  engageStatement,
  formResults,
  formResultsShape,
  promoResults,
  promoResultsShape,
  surveyResults,
  surveyResultsShape,
} from '#pipelines/analytics/engage_results.ts';
import {
  type ListedRow,
  type LivePlan,
  listingAnswer,
  listingShape,
  livePlan,
  liveStatement,
  type TimelinePlan,
  timelinePlan,
  timelineStatement,
} from '#pipelines/analytics/event_lists.ts';
import { withEveryName } from '#pipelines/analytics/event_names.ts';
import {
  type FunnelPlan,
  type FunnelRow,
  funnelAnswer,
  funnelAnswerShape,
  funnelPlan,
} from '#pipelines/analytics/funnels/query.ts';
import { funnelStatement } from '#pipelines/analytics/funnels/sql.ts';
import {
  type LifecyclePlan,
  type LifecycleRow,
  lifecycleAnswer,
  lifecycleAnswerShape,
  lifecyclePlan,
  lifecycleStatement,
} from '#pipelines/analytics/lifecycle.ts';
import {
  type PathRow,
  type PathsPlan,
  pathsAnswer,
  pathsAnswerShape,
  pathsPlan,
  pathsProblems,
  pathsShape,
  pathsStatement,
} from '#pipelines/analytics/paths.ts';
import {
  type ActorRow,
  type ActorsPlan,
  actorsAnswer,
  actorsAnswerShape,
  actorsPlan,
  actorsProblems,
  actorsShape,
  listedQuery,
} from '#pipelines/analytics/people/query.ts';
import { actorsStatement } from '#pipelines/analytics/people/sql.ts';
import { namesPersons } from '#pipelines/analytics/personal_fields.ts';
import {
  cacheTtlMs,
  queriedSince,
  sinceEver,
  timeRead,
  withPersonsOf,
  withPhoneHmacs,
} from '#pipelines/analytics/query_rewrites.ts';
import {
  cutProblems,
  engageQueryShape,
  filterProblems,
  funnelProblems,
  funnelShape,
  lifecycleShape,
  liveShape,
  rangeProblems,
  retentionProblems,
  retentionShape,
  stickinessShape,
  timelineShape,
  topShape,
  trendsShape,
} from '#pipelines/analytics/query_schemas.ts';
import {
  type RetentionPlan,
  type RetentionRow,
  retentionAnswer,
  retentionAnswerShape,
  retentionPlan,
  retentionStatement,
} from '#pipelines/analytics/retention.ts';
import { sqlAnswerShape } from '#pipelines/analytics/sql_rows.ts';
import type { Statement } from '#pipelines/analytics/statement.ts';
import {
  type StickinessPlan,
  type StickinessRow,
  stickinessAnswer,
  stickinessAnswerShape,
  stickinessPlan,
  stickinessStatement,
} from '#pipelines/analytics/stickiness.ts';
import {
  type TopPlan,
  type TopRow,
  topAnswer,
  topAnswerShape,
  topPlan,
  topStatement,
} from '#pipelines/analytics/top.ts';
import { trendsAnswer, trendsAnswerShape } from '#pipelines/analytics/trends/answer.ts';
import { type TrendRow, type TrendsPlan, trendsPlan, trendsProblems } from '#pipelines/analytics/trends/plan.ts';
import { trendsStatement } from '#pipelines/analytics/trends/sql.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import { closed, idField, timeField } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { type Input, inSite, type Needs } from '../auth.ts';
import { type Question, type RequestContext, type Route, refused, route } from '../route.ts';
import { formatQuery, OTHER_FORMATS } from './formats.ts';

/** Of fewer a value may tell who they are. */
const LEAST_PERSONS = 5;

const queryParams = closed({ site_id: idField('The site') });

interface QuerySpec<Query extends TObject | TUnion, Plan, Row> {
  name: string;
  operationId: string;
  /** Without it, that for figures of many. */
  permission?: 'query.events' | 'query.persons';
  summary: string;
  shape: Query;
  answerShape: TObject;
  problems(query: Static<Query>): Problem[];
  plan(query: Static<Query>, nowMs: number): Plan;
  /** @param leastPersons Persons that a value has at the least to be told. */
  statement(siteId: string, plan: Plan, leastPersons: number): Statement;
  answer(query: Static<Query>, rows: readonly Row[], leastPersons: number): object;
  cacheTtlMs(query: Static<Query>, nowMs: number): number;
  /** Whether values that few persons have are left to those who may see persons. */
  hidesFew?: true;
  /** Whether the answer lists persons or their events. */
  listsPersons?: true;
  /** The time whose events are read, where that is not what `timeRead` makes of the query. */
  reads?(query: Static<Query>): Span | null;
}

/** Figures or events of many; of one person where the question names what singles one out. */
const ofPersons = (permission: Permission): Needs => ({
  ...inSite(permission),
  ...(permission === 'query.persons' ? {} : { others: ['query.persons'] }),
  choose: ({ body }) => (namesPersons(body) ? 'query.persons' : permission),
});

/** A route that asks ClickHouse about the events of one site. */
function queryRoute<Query extends TObject | TUnion, Plan, Row>(spec: QuerySpec<Query, Plan, Row>): Route {
  return {
    method: 'POST',
    path: `/v1/query/{site_id}/${spec.name}`,
    operationId: spec.operationId,
    access: ofPersons(spec.permission ?? 'query.aggregates'),
    tag: 'Queries',
    summary: spec.summary,
    params: queryParams,
    query: formatQuery,
    body: spec.shape,
    ifMatch: 'none',
    success: {
      status: 200,
      schema: answerSchema(spec.answerShape),
      description: 'The answer',
      otherwise: OTHER_FORMATS,
    },
    errors: [
      'site_unknown',
      'query_pattern_invalid',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'query_unavailable',
    ],
    run: () => refused('not_found'),
    ask: (input, world) => askQuery(spec, input, world),
  };
}

function askQuery<Query extends TObject | TUnion, Plan, Row>(
  spec: QuerySpec<Query, Plan, Row>,
  input: Input,
  world: RequestContext,
): Question {
  const { site_id: siteId } = input.params as Static<typeof queryParams>;
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  const query = withPhoneHmacs(input.body as Static<Query>, (sha256) => world.phoneHmacs(siteId, sha256));
  const problems = [...filterProblems(query), ...spec.problems(query)];
  if (problems.length > 0) return refused('settings_invalid', problems);
  const isCut = spec.hidesFew === true && !world.may('query.persons', { site: siteId });
  const leastPersons = isCut ? LEAST_PERSONS : 1;
  const since = spec.reads === undefined ? queriedSince(query as object) : (spec.reads(query)?.from ?? 0);
  return {
    kind: 'ask',
    siteId,
    about: spec.name,
    isShared: spec.listsPersons !== true,
    ofPersons: spec.permission !== undefined || namesPersons(query) || (spec.hidesFew === true && !isCut),
    reads: spec.reads === undefined ? timeRead(query as object) : spec.reads(query),
    asked: { ...(query as object), fresh: undefined, ...(isCut ? { leastPersons } : {}) },
    statement: spec.statement(
      siteId,
      spec.plan(withPersonsOf(withEveryName(query), siteId, since), world.nowMs),
      leastPersons,
    ),
    cacheTtlMs: spec.cacheTtlMs(query, world.nowMs),
    answer: (rows) => spec.answer(query, rows as Row[], leastPersons),
  };
}

function answerSchema(shape: TObject): TSchema {
  return Type.Object({ ...shape.properties, as_of: timeField('When ClickHouse was asked') });
}

interface Ranged {
  to: number;
  fresh?: boolean;
}

/** How long an answer about a time may be kept. */
const byRange = ({ to, fresh }: Ranged, nowMs: number): number => (fresh === true ? 0 : cacheTtlMs(to, nowMs));

const LIVE_KEPT_MS = 1_000;

export const queryRoutes: Route[] = [
  queryRoute<typeof funnelShape, FunnelPlan, FunnelRow>({
    name: 'funnel',
    operationId: 'queryFunnel',
    summary: 'How many persons or sessions get from step to step, how long it takes, and by what they came',
    shape: funnelShape,
    answerShape: funnelAnswerShape,
    problems: funnelProblems,
    plan: funnelPlan,
    statement: funnelStatement,
    answer: funnelAnswer,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
  queryRoute<typeof correlationShape, CorrelationPlan, CorrelationRow>({
    name: 'correlation',
    operationId: 'queryCorrelation',
    summary: 'Which events, or which values, go with getting to the last step of a funnel, or with not getting there',
    shape: correlationShape,
    answerShape: correlationAnswerShape,
    problems: correlationProblems,
    plan: correlationPlan,
    statement: correlationStatement,
    answer: correlationAnswer,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
  queryRoute<typeof trendsShape, TrendsPlan, TrendRow>({
    name: 'trends',
    operationId: 'queryTrends',
    summary: 'Events, persons and what their numbers come to, by interval, with formulas over them',
    shape: trendsShape,
    answerShape: trendsAnswerShape,
    problems: trendsProblems,
    plan: trendsPlan,
    statement: trendsStatement,
    answer: trendsAnswer,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
  queryRoute<typeof retentionShape, RetentionPlan, RetentionRow>({
    name: 'retention',
    operationId: 'queryRetention',
    summary: 'Of those who began in an interval, how many came back in each one after it',
    shape: retentionShape,
    answerShape: retentionAnswerShape,
    problems: retentionProblems,
    plan: retentionPlan,
    statement: retentionStatement,
    answer: (_query, rows) => retentionAnswer(rows),
    cacheTtlMs: byRange,
  }),
  queryRoute<typeof stickinessShape, StickinessPlan, StickinessRow>({
    name: 'stickiness',
    operationId: 'queryStickiness',
    summary: 'In how many intervals persons have an event',
    shape: stickinessShape,
    answerShape: stickinessAnswerShape,
    problems: cutProblems,
    plan: stickinessPlan,
    statement: stickinessStatement,
    answer: stickinessAnswer,
    cacheTtlMs: byRange,
  }),
  queryRoute<typeof lifecycleShape, LifecyclePlan, LifecycleRow>({
    name: 'lifecycle',
    operationId: 'queryLifecycle',
    summary: 'Who is new in an interval, returns, comes back after a pause, or stays away',
    shape: lifecycleShape,
    answerShape: lifecycleAnswerShape,
    problems: cutProblems,
    plan: lifecyclePlan,
    statement: lifecycleStatement,
    answer: (_query, rows) => lifecycleAnswer(rows),
    cacheTtlMs: byRange,
    reads: sinceEver,
  }),
  queryRoute<typeof topShape, TopPlan, TopRow>({
    name: 'top',
    operationId: 'queryTop',
    summary: 'The commonest values of a column or property',
    shape: topShape,
    answerShape: topAnswerShape,
    problems: rangeProblems,
    plan: topPlan,
    statement: topStatement,
    answer: topAnswer,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
  queryRoute<typeof liveShape, LivePlan, ListedRow>({
    name: 'live',
    listsPersons: true,
    operationId: 'queryLive',
    permission: 'query.events',
    summary: 'What arrived last, newest first',
    shape: liveShape,
    answerShape: listingShape,
    problems: () => [],
    plan: livePlan,
    statement: liveStatement,
    answer: (_query, rows) => listingAnswer(rows),
    cacheTtlMs: () => LIVE_KEPT_MS,
  }),
  queryRoute<typeof timelineShape, TimelinePlan, ListedRow>({
    name: 'timeline',
    listsPersons: true,
    operationId: 'queryTimeline',
    permission: 'query.persons',
    summary: 'What one person did, under all its ids, newest first',
    shape: timelineShape,
    answerShape: listingShape,
    problems: rangeProblems,
    plan: timelinePlan,
    statement: timelineStatement,
    answer: (_query, rows) => listingAnswer(rows),
    cacheTtlMs: byRange,
    // By the places of one person's rows.
    reads: () => null,
  }),
  queryRoute<typeof engageQueryShape, EngagePlan, EngageRow>({
    name: 'survey',
    operationId: 'querySurvey',
    summary: 'How a survey was answered, question by question',
    shape: engageQueryShape,
    answerShape: surveyResultsShape,
    problems: rangeProblems,
    plan: engagePlan('survey'),
    statement: engageStatement,
    answer: surveyResults,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
  queryRoute<typeof engageQueryShape, EngagePlan, EngageRow>({
    name: 'promo',
    operationId: 'queryPromo',
    summary: 'How often a promo was seen, clicked and redeemed',
    shape: engageQueryShape,
    answerShape: promoResultsShape,
    problems: rangeProblems,
    plan: engagePlan('promo'),
    statement: engageStatement,
    answer: promoResults,
    cacheTtlMs: byRange,
  }),
  queryRoute<typeof engageQueryShape, EngagePlan, EngageRow>({
    name: 'form',
    operationId: 'queryForm',
    summary: 'How often a form was sent, and where its leads came from',
    shape: engageQueryShape,
    answerShape: formResultsShape,
    problems: rangeProblems,
    plan: engagePlan('form'),
    statement: engageStatement,
    answer: formResults,
    cacheTtlMs: byRange,
  }),
];

/** Questions about what single persons, or sessions, do. */
export const actorQueryRoutes: Route[] = [
  queryRoute<typeof actorsShape, ActorsPlan, ActorRow>({
    name: 'actors',
    listsPersons: true,
    operationId: 'queryActors',
    permission: 'query.persons',
    summary: 'Who is in a step of a funnel, a bar of trends, a cell of retention or a way of paths, page by page',
    shape: actorsShape,
    answerShape: actorsAnswerShape,
    problems: actorsProblems,
    plan: actorsPlan,
    statement: actorsStatement,
    answer: actorsAnswer,
    cacheTtlMs: (query, nowMs) => byRange(listedQuery(query), nowMs),
  }),
  queryRoute<typeof pathsShape, PathsPlan, PathRow>({
    name: 'paths',
    operationId: 'queryPaths',
    summary: 'Which way people go from, to and through an event or a page',
    shape: pathsShape,
    answerShape: pathsAnswerShape,
    problems: pathsProblems,
    plan: pathsPlan,
    statement: pathsStatement,
    answer: pathsAnswer,
    cacheTtlMs: byRange,
    hidesFew: true,
  }),
];

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

export const sqlRoute: Route = {
  ...route({
    method: 'POST',
    path: '/v1/query/{site_id}/sql',
    operationId: 'querySql',
    access: inSite('query.sql'),
    tag: 'Queries',
    summary: 'What an analyst asks in SQL: it sees the rows of this site, and writes nothing',
    params: siteParams,
    query: formatQuery,
    body: sqlShape,
    ifMatch: 'none',
    success: {
      status: 200,
      schema: Type.Object({ ...sqlAnswerShape.properties, as_of: timeField('When ClickHouse was asked') }),
      description: 'The rows',
      otherwise: OTHER_FORMATS,
    },
    errors: [
      'site_unknown',
      'sql_refused',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'sql_not_set_up',
      'query_unavailable',
    ],
    run: () => refused('not_found'),
  }),
  ask(input, { view }) {
    const { site_id: siteId } = input.params as { site_id: string };
    if (view.table.site(siteId) === undefined) return refused('site_unknown');
    return { kind: 'sql', siteId, sql: (input.body as { sql: string }).sql };
  },
};
