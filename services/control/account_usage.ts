import type { Static } from 'typebox';
import { usageStatement } from '#infra/clickhouse/queries/usage_statement.ts';
import { ALL_SITES } from '#infra/clickhouse/query_ids.ts';
import { monthOf } from '#pipelines/quota/month.ts';
import { type SiteDayCount, usageByDay } from '#pipelines/quota/usage_by_day.ts';
import { accountParams } from '#services/control_api/account_shapes.ts';
import { usageQuery, usageShape } from '#services/control_api/usage_shapes.ts';
import { type Route, refused, route } from './route.ts';
import { inAccount } from './route_access.ts';

/** A day's count changes with every event; whoever looks at a month wants no more than this. */
const KEPT_MS = 10_000;

export const accountUsageRoute: Route = {
  ...route({
    method: 'GET',
    path: '/v1/admin/accounts/{account_id}/usage',
    operationId: 'getAccountUsage',
    access: inAccount('account.read'),
    tag: 'Accounts',
    summary: "How many events of the account's sites arrived on each day of a month, by what ClickHouse holds",
    params: accountParams,
    query: usageQuery,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: usageShape, description: 'The days of the month up to now' },
    errors: ['account_unknown', 'query_too_heavy', 'query_busy', 'query_cancelled', 'query_unavailable'],
    run: () => refused('not_found'),
  }),
  ask({ params, query }, { nowMs, view }) {
    const { account_id } = params as Static<typeof accountParams>;
    const { month = monthOf(nowMs) } = query as Static<typeof usageQuery>;
    if (view.table.account(account_id) === undefined) return refused('account_unknown');
    const siteIds = view.table.sites().flatMap((site) => (site.account_id === account_id ? [site.site_id] : []));
    return {
      kind: 'ask',
      siteId: ALL_SITES,
      about: 'usage',
      reads: null,
      isShared: true,
      asked: { account_id, month },
      statement: usageStatement(siteIds, month),
      keptMs: KEPT_MS,
      answer(rows) {
        const days = usageByDay(month, rows as SiteDayCount[], nowMs);
        return { account_id, month, events: days.reduce((sum, { events }) => sum + events, 0), days };
      },
    };
  },
};
