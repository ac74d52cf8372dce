import { type Static, type TObject, type TSchema, type TUnion, Type } from 'typebox';
import { funnelProblems, rangeProblems, zoneProblems } from '#pipelines/query/check.ts';
import { withEveryName } from '#pipelines/query/event_names.ts';
import { keptMs } from '#pipelines/query/freshness.ts';
import { type FunnelRow, funnelStatement } from '#pipelines/query/funnel.ts';
import { funnelAnswer, funnelAnswerShape } from '#pipelines/query/funnel_answer.ts';
import {
  type ListedRow,
  listingAnswer,
  listingShape,
  liveStatement,
  timelineStatement,
} from '#pipelines/query/listing.ts';
import {
  type RetentionRow,
  retentionAnswer,
  retentionAnswerShape,
  retentionStatement,
} from '#pipelines/query/retention.ts';
import {
  funnelShape,
  liveShape,
  retentionShape,
  timelineShape,
  topShape,
  trendsShape,
} from '#pipelines/query/shapes.ts';
import type { Statement } from '#pipelines/query/statement.ts';
import { type TopRow, topAnswer, topAnswerShape, topStatement } from '#pipelines/query/top.ts';
import { type TrendRow, trendsAnswer, trendsAnswerShape, trendsStatement } from '#pipelines/query/trends.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import { type Input, type Question, type Route, refused, type World } from './route.ts';
import { closed, idField, nothing, timeField } from './shapes.ts';

const siteParams = closed({ site_id: idField('The site') });
const LIVE_KEPT_MS = 1_000;

interface QuerySpec<Query extends TObject | TUnion, Row> {
  name: string;
  operationId: string;
  summary: string;
  shape: Query;
  answerShape: TObject;
  problems(query: Static<Query>): Problem[];
  statement(siteId: string, query: Static<Query>, nowMs: number): Statement;
  answer(query: Static<Query>, rows: readonly Row[]): object;
  keptMs(query: Static<Query>, nowMs: number): number;
}

/** A route that asks ClickHouse about the events of one site. */
function queryRoute<Query extends TObject | TUnion, Row>(spec: QuerySpec<Query, Row>): Route {
  return {
    method: 'POST',
    path: `/v1/query/{site_id}/${spec.name}`,
    operationId: spec.operationId,
    tag: 'Queries',
    summary: spec.summary,
    params: siteParams,
    query: nothing,
    body: spec.shape,
    ifMatch: 'none',
    success: { status: 200, schema: answered(spec.answerShape), description: 'The answer' },
    errors: ['site_unknown', 'query_too_heavy', 'query_unavailable'],
    run: () => refused('not_found'),
    ask: (input, world) => ask(spec, input, world),
  };
}

function ask<Query extends TObject | TUnion, Row>(spec: QuerySpec<Query, Row>, input: Input, world: World): Question {
  const { site_id: siteId } = input.params as Static<typeof siteParams>;
  if (world.view.table.site(siteId) === undefined) return { kind: 'refused', code: 'site_unknown', problems: [] };
  const query = input.body as Static<Query>;
  const problems = spec.problems(query);
  if (problems.length > 0) return { kind: 'refused', code: 'settings_invalid', problems };
  return {
    kind: 'ask',
    statement: spec.statement(siteId, withEveryName(query), world.nowMs),
    keptMs: spec.keptMs(query, world.nowMs),
    answer: (rows) => spec.answer(query, rows as Row[]),
  };
}

function answered(shape: TObject): TSchema {
  return Type.Object({ ...shape.properties, as_of: timeField('When ClickHouse was asked') });
}

interface Ranged {
  to: number;
  fresh?: boolean;
}

const byRange = ({ to, fresh }: Ranged, nowMs: number): number => (fresh === true ? 0 : keptMs(to, nowMs));

export const queryRoutes: Route[] = [
  queryRoute<typeof funnelShape, FunnelRow>({
    name: 'funnel',
    operationId: 'queryFunnel',
    summary: 'How many persons or sessions get from step to step, how long it takes, and by what they came',
    shape: funnelShape,
    answerShape: funnelAnswerShape,
    problems: funnelProblems,
    statement: funnelStatement,
    answer: funnelAnswer,
    keptMs: byRange,
  }),
  queryRoute<typeof trendsShape, TrendRow>({
    name: 'trends',
    operationId: 'queryTrends',
    summary: 'Events, persons and sums by interval',
    shape: trendsShape,
    answerShape: trendsAnswerShape,
    problems: (query) => [...rangeProblems(query), ...zoneProblems(query.time_zone)],
    statement: trendsStatement,
    answer: trendsAnswer,
    keptMs: byRange,
  }),
  queryRoute<typeof retentionShape, RetentionRow>({
    name: 'retention',
    operationId: 'queryRetention',
    summary: 'Of those who began in an interval, how many came back in each one after it',
    shape: retentionShape,
    answerShape: retentionAnswerShape,
    problems: (query) => [...rangeProblems(query), ...zoneProblems(query.time_zone)],
    statement: retentionStatement,
    answer: (_query, rows) => retentionAnswer(rows),
    keptMs: byRange,
  }),
  queryRoute<typeof topShape, TopRow>({
    name: 'top',
    operationId: 'queryTop',
    summary: 'The commonest values of a column or property',
    shape: topShape,
    answerShape: topAnswerShape,
    problems: rangeProblems,
    statement: topStatement,
    answer: topAnswer,
    keptMs: byRange,
  }),
  queryRoute<typeof liveShape, ListedRow>({
    name: 'live',
    operationId: 'queryLive',
    summary: 'What arrived last, newest first',
    shape: liveShape,
    answerShape: listingShape,
    problems: () => [],
    statement: liveStatement,
    answer: (_query, rows) => listingAnswer(rows),
    keptMs: () => LIVE_KEPT_MS,
  }),
  queryRoute<typeof timelineShape, ListedRow>({
    name: 'timeline',
    operationId: 'queryTimeline',
    summary: 'What one person did, under all its ids, newest first',
    shape: timelineShape,
    answerShape: listingShape,
    problems: rangeProblems,
    statement: timelineStatement,
    answer: (_query, rows) => listingAnswer(rows),
    keptMs: byRange,
  }),
];
