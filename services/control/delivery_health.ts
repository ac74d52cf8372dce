import { type Static, Type } from 'typebox';
import { healthStatement } from '#infra/clickhouse/queries/delivery_health_statement.ts';
import { type HealthRow, healthState } from '#pipelines/delivery/health.ts';
import { RETRY_AGE_MAX_MS } from '#pipelines/delivery/lanes.ts';
import { type Route, refused, route } from './route.ts';
import { closed, idField, nothing, nullable, timeField } from './shapes.ts';

const DAY_MS = 86_400_000;
/** Answers are shared for this long. */
const KEPT_MS = 1_000;

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const spread = (description: string) => Type.Object({ p50: Type.Number(), p99: Type.Number() }, { description });

const healthShape = Type.Object({
  site_id: Type.String(),
  destination: Type.String(),
  state: Type.Enum(['delivering', 'failing', 'waits_for_settings', 'idle'], {
    description:
      'By the newest attempt; waits_for_settings: credentials that the platform refuses, or settings that are missing',
  }),
  reason: Type.String({ description: 'Why, where it is not delivering: a stable code; else empty' }),
  attempts: count('Events attempted'),
  delivered: count('Of these, delivered'),
  diverted: count('Of these, put on a lane for another attempt'),
  dead: count('Of these, given up'),
  paused: count('Events put on a lane without an attempt'),
  waiting: count('Events that wait on a lane now; those that wait in the main topic are lag, not counted here'),
  skipped: Type.Record(Type.String(), Type.Integer(), { description: 'Events left out, by reason' }),
  delivered_at: nullable(timeField('When an event was last delivered')),
  failed_at: nullable(timeField('When one last was not')),
  failed_reason: Type.String({ description: 'Why it was not; empty where none failed' }),
  took_ms: spread('Time of the calls'),
  age_ms: spread('From arrival at the edge until the attempt that delivered'),
});
export type HealthItem = Static<typeof healthShape>;

const healthQuery = closed({
  site_id: Type.Optional(idField('Only this site')),
  destination: Type.Optional(idField('Only this kind of destination')),
});

export const deliveryHealthRoutes: Route[] = [
  {
    ...route({
      method: 'GET',
      path: '/v1/admin/delivery-health',
      operationId: 'getDeliveryHealth',
      tag: 'Destinations',
      summary: 'How each destination of each site has done in the last 24 hours, by its outcomes in ClickHouse',
      params: nothing,
      query: healthQuery,
      body: null,
      ifMatch: 'none',
      success: {
        status: 200,
        schema: Type.Object({ items: Type.Array(healthShape), as_of: timeField('When ClickHouse was asked') }),
        description: 'Destinations of which there are outcomes',
      },
      errors: ['query_too_heavy', 'query_unavailable'],
      run: () => refused('not_found'),
    }),
    ask(input, { nowMs }) {
      const { site_id = null, destination = null } = input.query as Static<typeof healthQuery>;
      // In steps, so that equal questions of one second share an answer.
      const sinceMs = Math.floor((nowMs - DAY_MS) / KEPT_MS) * KEPT_MS;
      return {
        kind: 'ask',
        statement: healthStatement({
          sinceMs,
          waitingSinceMs: sinceMs - RETRY_AGE_MAX_MS,
          siteId: site_id,
          destination,
        }),
        keptMs: KEPT_MS,
        answer: (rows) => ({ items: (rows as HealthRow[]).map(itemOf) }),
      };
    },
  },
];

function itemOf(row: HealthRow): HealthItem {
  const { latest: _latest, latest_reason, took_ms, age_ms, delivered_at, failed_at, ...counts } = row;
  const state = healthState(row);
  return {
    ...counts,
    state,
    reason: state === 'delivering' ? '' : latest_reason,
    delivered_at: delivered_at === 0 ? null : delivered_at,
    failed_at: failed_at === 0 ? null : failed_at,
    took_ms: { p50: took_ms[0], p99: took_ms[1] },
    age_ms: { p50: age_ms[0], p99: age_ms[1] },
  };
}
