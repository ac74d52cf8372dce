import type { Static } from 'typebox';
import { newestAttemptsStatement } from '#infra/clickhouse/queries/newest_attempts_statement.ts';
import type { AttemptRow } from '#pipelines/query/delivery_trace.ts';
import { type AttemptItem, attemptsQuery, attemptsShape } from '#services/control_api/attempt_shapes.ts';
import { destinationParams } from '#services/control_api/destination_shapes.ts';
import { type Route, refused, route } from './route.ts';
import { inSite } from './route_access.ts';

const KEPT_MS = 1_000;
const SINCE_MS = 30 * 86_400_000;
const LIMIT = 50;

interface NewestAttemptRow extends Omit<AttemptRow, 'destination' | 'received'> {
  event_id: string;
  event: string;
}

export const newestAttemptsRoute: Route = {
  ...route({
    method: 'GET',
    path: '/v1/admin/sites/{site_id}/destinations/{name}/attempts',
    operationId: 'listAttempts',
    access: inSite('destinations.read'),
    tag: 'Destinations',
    summary: 'The newest attempts to deliver to a destination, with what the platform answered',
    params: destinationParams,
    query: attemptsQuery,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: attemptsShape, description: 'Attempts of the last 30 days' },
    errors: ['site_unknown', 'query_too_heavy', 'query_busy', 'query_cancelled', 'query_unavailable'],
    run: () => refused('not_found'),
  }),
  ask({ params, query }, { nowMs, view }) {
    const { site_id: siteId, name: destination } = params as Static<typeof destinationParams>;
    const { outcome = null, limit = LIMIT } = query as Static<typeof attemptsQuery>;
    if (view.table.site(siteId) === undefined) return refused('site_unknown');
    // In steps, so that equal questions of one second share an answer.
    const sinceMs = Math.floor((nowMs - SINCE_MS) / KEPT_MS) * KEPT_MS;
    return {
      kind: 'ask',
      siteId,
      about: 'attempts',
      reads: null,
      isShared: false,
      asked: { destination, outcome, limit },
      statement: newestAttemptsStatement({ siteId, destination, outcome, sinceMs, limit }),
      keptMs: KEPT_MS,
      answer: (rows) => ({ items: (rows as NewestAttemptRow[]).map(attemptItem) }),
    };
  },
};

/** An attempt as it is answered. */
export function attemptItem({ attempted, answer_status, answer, outcome, ...row }: NewestAttemptRow): AttemptItem {
  return {
    ...row,
    attempted_at: attempted,
    outcome: outcome as AttemptItem['outcome'],
    answer: answer_status === 0 ? null : { status: answer_status, body: answer },
  };
}
