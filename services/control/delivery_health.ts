import { type Static, Type } from 'typebox';
import { healthStatement } from '#infra/clickhouse/queries/delivery_health_statement.ts';
import { ALL_SITES } from '#infra/clickhouse/query_ids.ts';
import { type HealthRow, healthState } from '#pipelines/delivery/health.ts';
import { RETRY_AGE_MAX_MS } from '#pipelines/delivery/lanes.ts';
import { type HealthItem, healthQuery, healthShape } from '#services/control_api/delivery_health_shapes.ts';
import { nothing, timeField } from '#services/control_api/fields.ts';
import { type Route, refused, route } from './route.ts';
import { ofListed } from './route_access.ts';

const DAY_MS = 86_400_000;
/** Answers are shared for this long. */
const KEPT_MS = 1_000;

export const deliveryHealthRoutes: Route[] = [
  {
    ...route({
      method: 'GET',
      path: '/v1/admin/delivery-health',
      operationId: 'getDeliveryHealth',
      access: ofListed('destinations.read'),
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
      errors: ['query_too_heavy', 'query_busy', 'query_cancelled', 'query_unavailable'],
      run: () => refused('not_found'),
    }),
    ask(input, { nowMs, may, principal }) {
      const { site_id = null, destination = null } = input.query as Static<typeof healthQuery>;
      // Rows of all sites are one question, which those who see all of them and those who see some ask alike.
      const isWhole = site_id !== null || may('destinations.read', 'installation');
      // In steps, so that equal questions of one second share an answer.
      const sinceMs = Math.floor((nowMs - DAY_MS) / KEPT_MS) * KEPT_MS;
      return {
        kind: 'ask',
        siteId: site_id ?? ALL_SITES,
        about: 'delivery-health',
        reads: null,
        isShared: true,
        asked: isWhole ? (input.query as object) : { by: principal.actor },
        statement: healthStatement({
          sinceMs,
          waitingSinceMs: sinceMs - RETRY_AGE_MAX_MS,
          siteId: site_id,
          destination,
        }),
        keptMs: isWhole ? KEPT_MS : 0,
        answer: (rows) => ({
          items: (rows as HealthRow[])
            .filter((row) => isWhole || may('destinations.read', { site: row.site_id }))
            .map(itemOf),
        }),
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
