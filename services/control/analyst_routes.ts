import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import type { AnalystUser, AnalystUsers } from '#infra/clickhouse/analyst_users.ts';
import type { Place } from '#pipelines/settings/access.ts';
import { hasRoom, ownersOf } from '#pipelines/settings/account_limits.ts';
import { randomPassword } from '#pipelines/settings/random_text.ts';
import {
  type AnalystItem,
  type AnalystsAnswer,
  analystParams,
  analystShape,
  analystsShape,
  type MadeAnalyst,
  madeAnalystShape,
  newAnalyst,
} from '#services/control_api/analyst_shapes.ts';
import { nothing } from '#services/control_api/fields.ts';
import { done, type Route, refused, route, type World } from './route.ts';
import { ofListed } from './route_access.ts';

/** Of each account whose sites they read. */
const ANALYSTS_MAX = 200;
const tag = 'Analysts';
const base = '/v1/admin/analysts';
const errors = ['analysts_not_set_up', 'query_unavailable'] as const;

type NewAnalyst = Static<typeof newAnalyst>;
type Params = Static<typeof analystParams>;

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export const analystRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listAnalysts',
    access: ofListed('tokens.manage'),
    tag,
    summary: 'List the users of ClickHouse that read sites where you manage tokens',
    params: nothing,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: analystsShape, description: 'Analysts, by their ids' },
    errors,
    run: () => done([], () => ({ body: {} })),
    async gather(_input, { analysts }, world) {
      if (analysts === null) return refused('analysts_not_set_up');
      const items = (await analysts.list()).filter((one) => isManaged(one, world)).map((one) => itemOf(one, world));
      const body: AnalystsAnswer = { items };
      return { kind: 'answered', body };
    },
  }),
  route({
    method: 'POST',
    path: base,
    operationId: 'makeAnalyst',
    access: {
      permission: 'tokens.manage',
      of: ({ body }) => (body as NewAnalyst).site_ids.map((site) => ({ site })),
    },
    needsProof: () => true,
    tag,
    summary: 'Make a user of ClickHouse that reads some sites, and show its password, once',
    params: nothing,
    query: nothing,
    body: newAnalyst,
    ifMatch: 'none',
    success: { status: 201, schema: madeAnalystShape, description: 'The analyst with the password' },
    errors: [...errors, 'site_unknown', 'analyst_exists', 'limit_reached', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    async gather({ body }, { analysts, note }, world) {
      const { view, principal, nowMs, randomBytes } = world;
      const { analyst_id: analystId, site_ids } = body as NewAnalyst;
      if (analysts === null) return refused('analysts_not_set_up');
      if (site_ids.some((id) => view.table.site(id) === undefined)) return refused('site_unknown');
      const known = await analysts.list();
      if (known.some((one) => one.analystId === analystId)) return refused('analyst_exists');
      const held = known.map(({ siteIds }) => ownersOf(placesOf(siteIds), view.table));
      if (!hasRoom(held, ownersOf(placesOf(site_ids), view.table), ANALYSTS_MAX)) return refused('limit_reached');
      await note(`analyst/${analystId}`, { done: 'analyst.make', site_ids });
      const password = randomPassword(randomBytes);
      const made = await analysts.make({
        ...{ analystId, siteIds: [...new Set(site_ids)], createdMs: nowMs, createdBy: principal.actor },
        passwordSha256: hash('sha256', password),
      });
      if (made === null) return refused('analyst_exists');
      const answer: MadeAnalyst = { password, analyst: itemOf(made, world) };
      return { kind: 'answered', body: answer };
    },
  }),
  route({
    method: 'DELETE',
    path: `${base}/{analyst_id}`,
    operationId: 'revokeAnalyst',
    access: ofListed('tokens.manage'),
    tag,
    summary: 'Revoke a user of ClickHouse, at once and for good; what it runs is ended',
    params: analystParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: analystShape, description: 'The analyst that was' },
    errors: [...errors, 'analyst_unknown', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    async gather({ params }, { analysts, note }, world) {
      const { analyst_id } = params as Params;
      if (analysts === null) return refused('analysts_not_set_up');
      const found = await managed(analysts, params as Params, world);
      if (found === undefined) return refused('analyst_unknown');
      await note(`analyst/${analyst_id}`, { done: 'analyst.revoke' });
      await analysts.revoke(analyst_id);
      return { kind: 'answered', body: itemOf(found, world) };
    },
  }),
];

/** One that does not say what it reads is the installation's. */
const placesOf = (siteIds: readonly string[]): Place[] =>
  siteIds.length === 0 ? ['installation'] : siteIds.map((site) => ({ site }));

/** The analyst of that id; what is of others is as what is not there. */
async function managed(analysts: AnalystUsers, { analyst_id }: Params, world: World): Promise<AnalystUser | undefined> {
  return (await analysts.list()).find((one) => one.analystId === analyst_id && isManaged(one, world));
}

/**
 * Whoever manages tokens of one of its sites, as it reads that one; one that does not say which they are is the installation's.
 */
function isManaged({ siteIds }: AnalystUser, { may }: World): boolean {
  return placesOf(siteIds).some((place) => may('tokens.manage', place));
}

/** Of its sites those where who asks manages tokens. */
function itemOf({ analystId, user, siteIds, createdMs, createdBy }: AnalystUser, { may }: World): AnalystItem {
  const site_ids = siteIds.filter((site) => may('tokens.manage', { site }));
  return { analyst_id: analystId, clickhouse_user: user, site_ids, created_at: createdMs, created_by: createdBy };
}
