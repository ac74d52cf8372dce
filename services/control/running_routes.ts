import { type Static, Type } from 'typebox';
import { ALL_SITES } from '#infra/clickhouse/query_ids.ts';
import type { RunningQuery } from '#infra/clickhouse/running_queries.ts';
import { closed, idField, nothing } from '#services/control_api/fields.ts';
import {
  type RunningQueryItem,
  runningQueriesShape,
  runningQueryParams,
  runningQueryShape,
} from '#services/control_api/running_query_shapes.ts';
import { done, type Route, refused, route, type Sources, type World } from './route.ts';
import { ofListed } from './route_access.ts';

const tag = 'Queries';
const base = '/v1/admin/queries';
type Params = Static<typeof runningQueryParams>;
const listQuery = closed({ site_id: Type.Optional(idField('Only queries about this site')) });

export const runningRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listRunningQueries',
    access: ofListed('queries.manage'),
    tag,
    summary: 'The queries that ClickHouse is at work on: whose they are, for how long, and what they take',
    params: nothing,
    query: listQuery,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: runningQueriesShape, description: 'Queries of every control service' },
    errors: ['query_unavailable'],
    run: () => done([], () => ({ body: {} })),
    async gather({ query }, { running }, world) {
      const { site_id: siteId } = query as Static<typeof listQuery>;
      const found = (await running.list())
        .filter((one) => siteId === undefined || one.siteId === siteId)
        .filter((one) => isManaged(one, world));
      return { kind: 'answered', body: { items: found.map(itemOf), as_of: world.nowMs } };
    },
  }),
  route({
    method: 'DELETE',
    path: `${base}/{id}`,
    operationId: 'cancelQuery',
    access: ofListed('queries.manage'),
    tag,
    summary: 'End a query; whoever asked it is answered query_cancelled',
    params: runningQueryParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: runningQueryShape, description: 'The query, as it was when it was ended' },
    errors: ['query_unknown', 'query_unavailable', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    async gather({ params }, { running, note }, before) {
      const found = await managed(running, params as Params, before);
      if (found === undefined) return refused('query_unknown');
      const world = await note('queries', { cancel: found.id });
      if ('kind' in world) return world;
      const cancelled = isManaged(found, world) ? await running.cancel(found.id) : null;
      return cancelled === null ? refused('query_unknown') : { kind: 'answered', body: itemOf(cancelled) };
    },
  }),
];

/** The query of that id; what is of others is as what is not there. */
async function managed(running: Sources['running'], { id }: Params, world: World): Promise<RunningQuery | undefined> {
  return (await running.list()).find((one) => one.id === id && isManaged(one, world));
}

/** A query about all sites is the installation's. */
function isManaged({ siteId }: RunningQuery, { may }: World): boolean {
  return may('queries.manage', siteId === ALL_SITES ? 'installation' : { site: siteId });
}

function itemOf({ id, siteId, kind, askedBy, runningMs, rowsRead, memoryBytes }: RunningQuery): RunningQueryItem {
  const figures = { running_ms: runningMs, rows_read: rowsRead, memory_bytes: memoryBytes };
  return { id, site_id: siteId === ALL_SITES ? null : siteId, kind, asked_by: askedBy, ...figures };
}
