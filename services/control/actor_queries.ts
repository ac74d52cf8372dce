import { actorsStatement } from '#infra/clickhouse/queries/actors_statement.ts';
import { pathsStatement } from '#infra/clickhouse/queries/paths_statement.ts';
import { actorsProblems } from '#pipelines/query/actor_check.ts';
import {
  type ActorRow,
  type ActorsPlan,
  actorsAnswer,
  actorsAnswerShape,
  actorsPlan,
  listedQuery,
} from '#pipelines/query/actor_lists.ts';
import { actorsShape } from '#pipelines/query/actor_shapes.ts';
import {
  type PathRow,
  type PathsPlan,
  pathsAnswer,
  pathsAnswerShape,
  pathsPlan,
  pathsProblems,
  pathsShape,
} from '#pipelines/query/paths.ts';
import { byRange, queryRoute } from './query_route.ts';
import type { Route } from './route.ts';

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
    keptMs: (query, nowMs) => byRange(listedQuery(query), nowMs),
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
    keptMs: byRange,
    hidesFew: true,
  }),
];
