import { pathsStatement } from '#infra/clickhouse/queries/paths_statement.ts';
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
  }),
];
