import { correlationStatement } from '#infra/clickhouse/queries/correlation_statement.ts';
import { engageStatement } from '#infra/clickhouse/queries/engage_statement.ts';
import { funnelStatement } from '#infra/clickhouse/queries/funnel_statement.ts';
import { lifecycleStatement } from '#infra/clickhouse/queries/lifecycle_statement.ts';
import { liveStatement, timelineStatement } from '#infra/clickhouse/queries/listing_statement.ts';
import { retentionStatement } from '#infra/clickhouse/queries/retention_statement.ts';
import { stickinessStatement } from '#infra/clickhouse/queries/stickiness_statement.ts';
import { topStatement } from '#infra/clickhouse/queries/top_statement.ts';
import { trendsStatement } from '#infra/clickhouse/queries/trends_statement.ts';
import { cutProblems, funnelProblems, rangeProblems, retentionProblems } from '#pipelines/query/check.ts';
import {
  type CorrelationPlan,
  type CorrelationRow,
  correlationAnswer,
  correlationAnswerShape,
  correlationPlan,
  correlationProblems,
  correlationShape,
} from '#pipelines/query/correlation.ts';
import {
  type EngagePlan,
  type EngageRow,
  engagePlan,
  formResults,
  formResultsShape,
  promoResults,
  promoResultsShape,
  surveyResults,
  surveyResultsShape,
} from '#pipelines/query/engage_results.ts';
import { type FunnelRow, funnelAnswer, funnelAnswerShape } from '#pipelines/query/funnel_answer.ts';
import { type FunnelPlan, funnelPlan } from '#pipelines/query/funnel_plan.ts';
import {
  type LifecyclePlan,
  type LifecycleRow,
  lifecycleAnswer,
  lifecycleAnswerShape,
  lifecyclePlan,
} from '#pipelines/query/lifecycle.ts';
import {
  type ListedRow,
  type LivePlan,
  listingAnswer,
  listingShape,
  livePlan,
  type TimelinePlan,
  timelinePlan,
} from '#pipelines/query/listing.ts';
import {
  type RetentionPlan,
  type RetentionRow,
  retentionAnswer,
  retentionAnswerShape,
  retentionPlan,
} from '#pipelines/query/retention.ts';
import {
  engageQueryShape,
  funnelShape,
  lifecycleShape,
  liveShape,
  retentionShape,
  stickinessShape,
  timelineShape,
  topShape,
  trendsShape,
} from '#pipelines/query/shapes.ts';
import {
  type StickinessPlan,
  type StickinessRow,
  stickinessAnswer,
  stickinessAnswerShape,
  stickinessPlan,
} from '#pipelines/query/stickiness.ts';
import { sinceEver } from '#pipelines/query/time_read.ts';
import { type TopPlan, type TopRow, topAnswer, topAnswerShape, topPlan } from '#pipelines/query/top.ts';
import { type TrendRow, type TrendsPlan, trendsPlan } from '#pipelines/query/trends.ts';
import { trendsAnswer, trendsAnswerShape } from '#pipelines/query/trends_answer.ts';
import { trendsProblems } from '#pipelines/query/trends_check.ts';
import { byRange, queryRoute } from './query_route.ts';
import type { Route } from './route.ts';

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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: () => LIVE_KEPT_MS,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
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
    keptMs: byRange,
  }),
];
