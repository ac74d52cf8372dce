// Accounts, what they have used, what is said of the installation, and the rates by which its revenue is told in one currency.

import type { Static } from 'typebox';
import { ALL_SITES } from '#infra/clickhouse/queries/running_queries.ts';
import { rateProblems } from '#pipelines/analytics/revenue/rates.ts';
import { monthOf } from '#pipelines/quota/limits.ts';
import { type SiteDayCount, usageByDay, usageStatement } from '#pipelines/quota/usage.ts';
import type { Fact } from '#pipelines/settings/journal.ts';
import { accountKey } from '#pipelines/settings/table.ts';
import { accountProblems } from '#pipelines/settings/validate.ts';
import type { Account } from '#schemas/setting.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import { type RatesInput, ratesInput, ratesShape } from '#services/control_api/queries.ts';
import * as api from '#services/control_api/sites.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import {
  type ControlServices,
  doneWith,
  type GatheredAnswer,
  inAccount,
  inAll,
  listed,
  type Needs,
  type Outcome,
  ofListed,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
  shown,
} from '../route.ts';

const ACCOUNTS_MAX = 10_000;

const base = '/v1/admin/accounts';

/** The allowance is the installation's to give. */
const changesAccount: Needs = {
  permission: 'account.change',
  of({ params, body }) {
    const { account_id } = params as Static<typeof api.accountParams>;
    const { monthly_allowance } = body as Static<typeof api.accountChange>;
    return monthly_allowance === undefined ? { account: account_id } : 'installation';
  },
};

export const accountRoutes = resource('Accounts', [
  route('GET', base, 'listAccounts', {
    access: ofListed('account.read'),
    showsMonthUse: true,
    summary: 'List accounts',
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(api.accountShape), description: 'Accounts, sorted by id' },
    run: ({ query }, world) => {
      const items = world.view.table
        .accounts()
        .filter(({ account_id }) => world.may('account.read', { account: account_id }));
      return listed(items, query, 'account_id', (account) => itemOf(account, world));
    },
  }),
  route('POST', base, 'createAccount', {
    access: inAll('account.create'),
    showsMonthUse: true,
    summary: 'Create an account',
    body: api.newAccount,
    success: { status: 201, schema: api.accountShape, description: 'The account' },
    errors: ['account_exists', 'limit_reached'],
    run({ body }, world) {
      const { view } = world;
      if (view.table.account(body.account_id) !== undefined) return refused('account_exists');
      if (view.table.accounts().length >= ACCOUNTS_MAX) return refused('limit_reached');
      return written({ name: body.account_id, ...body }, null, world);
    },
  }),
  route('GET', `${base}/{account_id}`, 'getAccount', {
    access: inAccount('account.read'),
    showsMonthUse: true,
    summary: 'Read an account',
    params: api.accountParams,
    success: { status: 200, schema: api.accountShape, description: 'The account' },
    errors: ['account_unknown'],
    run({ params: { account_id } }, world) {
      if (world.view.table.account(account_id) === undefined) return refused('account_unknown');
      return show([], account_id, world);
    },
  }),
  route('PATCH', `${base}/{account_id}`, 'changeAccount', {
    access: changesAccount,
    showsMonthUse: true,
    summary: 'Change the fields of an account that are given',
    params: api.accountParams,
    body: api.accountChange,
    ifMatch: 'required',
    success: { status: 200, schema: api.accountShape, description: 'The account as it is now' },
    errors: ['account_unknown'],
    run({ params: { account_id }, body, ifMatch }, world) {
      const { view } = world;
      const before = view.table.account(account_id);
      if (before === undefined) return refused('account_unknown');
      return (
        checkIfMatch(view, accountKey(account_id), ifMatch, 'required') ??
        written({ ...before, ...body }, before, world)
      );
    },
  }),
  route('GET', '/v1/admin/accounts/{account_id}/usage', 'getAccountUsage', {
    access: inAccount('account.read'),
    summary: "How many events of the account's sites arrived on each day of a month, by what ClickHouse holds",
    params: api.accountParams,
    query: api.usageQuery,
    success: { status: 200, schema: api.usageShape, description: 'The days of the month up to now' },
    errors: ['account_unknown'],
    prepare({ params, query }, { nowMs, view }) {
      const { account_id } = params as Static<typeof api.accountParams>;
      const { month = monthOf(nowMs) } = query as Static<typeof api.usageQuery>;
      if (view.table.account(account_id) === undefined) return refused('account_unknown');
      const siteIds = view.table.sites().flatMap((site) => (site.account_id === account_id ? [site.site_id] : []));
      return {
        kind: 'query',
        siteId: ALL_SITES,
        about: 'usage',
        reads: null,
        isShared: true,
        asked: { account_id, month },
        statement: usageStatement(siteIds, month),
        cacheTtlMs: USAGE_KEPT_MS,
        answer(rows) {
          const days = usageByDay(month, rows as SiteDayCount[], nowMs);
          return { account_id, month, events: days.reduce((sum, { events }) => sum + events, 0), days };
        },
      };
    },
  }),
]);

function written(account: Account, before: Account | null, world: RequestContext): Outcome {
  return refusedFor(accountProblems(account, before)) ?? show([{ body: { account } }], account.account_id, world);
}

/** What is shown is read after the change is written, from the view of then. */
const show = (facts: Fact[], accountId: string, { monthUsed }: RequestContext): Outcome =>
  doneWith(facts, (view) => itemOf(view.table.account(accountId) as Account, { view, monthUsed }));

function itemOf(account: Account, { view, monthUsed }: Pick<RequestContext, 'view' | 'monthUsed'>): api.AccountItem {
  const { account_id } = account;
  return { ...account, used_this_month: monthUsed(account_id), ...metaOf(view, accountKey(account_id)) };
}

/** A day's count changes with every event; whoever looks at a month wants no more than this. */
const USAGE_KEPT_MS = 10_000;

export const installationRoutes = resource('Sites', [
  route('GET', '/v1/admin/installation', 'getInstallation', {
    access: 'known',
    summary: 'What is the same for every site: where browsers reach the edge',
    success: { status: 200, schema: api.installationShape, description: 'The installation' },
    run: (_input, { edgeUrl }) => shown({ edge_url: edgeUrl }),
  }),
]);

const path = '/v1/admin/rates';
const success = { status: 200, schema: ratesShape, description: 'What is loaded then' } as const;

const loaded = async ({ rates }: Pick<ControlServices, 'rates'>): Promise<GatheredAnswer> => ({
  kind: 'answered',
  body: await rates.read(),
});

/** Noted before it is done, so that the audit misses nothing, and again where it failed, so that it claims nothing. */
async function changedRates(
  services: Pick<ControlServices, 'rates' | 'note'>,
  what: Record<string, unknown>,
  change: () => Promise<void>,
): Promise<GatheredAnswer> {
  const world = await services.note('rates', what);
  if ('kind' in world) return world;
  try {
    await change();
  } catch (error) {
    await services.note('rates', { ...what, failed: true });
    throw error;
  }
  return loaded(services);
}

export const rateRoutes = resource('Queries', [
  route('GET', path, 'getRates', {
    access: inAll('queries.manage'),
    summary: 'Which rates of currencies are loaded',
    success: { ...success, description: 'What is loaded' },
    errors: ['query_unavailable'],
    gather: (_input, services) => loaded(services),
  }),
  route('PUT', path, 'loadRates', {
    access: inAll('queries.manage'),
    summary: 'Load rates of currencies by days; answers that are cached have them within ten minutes',
    body: ratesInput,
    success,
    errors: ['rates_base_differs', 'query_unavailable', 'settings_not_stored'],
    async gather({ body }, services) {
      const { base, rates } = body as RatesInput;
      const refusal = refusedFor(rateProblems(base, rates));
      if (refusal !== null) return refusal;
      const { base: before } = await services.rates.read();
      if (before !== null && before !== base) return refused('rates_base_differs');
      const days = rates.map(({ day }) => day).sort();
      const what = { base, rates: rates.length, from: days[0], to: days.at(-1) };
      return changedRates(services, what, () => services.rates.write(base, rates));
    },
  }),
  route('DELETE', path, 'clearRates', {
    access: inAll('queries.manage'),
    summary: 'Take all rates of currencies back',
    success,
    errors: ['query_unavailable', 'settings_not_stored'],
    gather: (_input, services) => changedRates(services, { clear: true }, () => services.rates.clear()),
  }),
]);
