// Analysts: users of ClickHouse that people read their sites with by tools of their own.

import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import { AnalystRightsError, type AnalystUser, type AnalystUsers } from '#infra/clickhouse/analysts/analyst_users.ts';
import { WarehouseError, type WarehouseProbe } from '#infra/clickhouse/client.ts';
import type { Logger } from '#infra/log/logger.ts';
import { hasRoom, ownersOf, type Place } from '#pipelines/settings/access.ts';
import { issuingUser } from '#pipelines/settings/admin_tokens.ts';
import { userOfActor } from '#pipelines/settings/dashboard_users.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { problem } from '#pipelines/settings/problems.ts';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type { AdminToken } from '#schemas/setting.ts';
import * as api from '#services/control_api/queries.ts';
import { ofListed, type Refused, type RequestContext, refused, resource, route } from '../route.ts';

/** Of each account whose sites they read. */
const ANALYSTS_MAX = 200;
/** Of those whose end is not said, as of admin tokens. */
const LIFE_MS = 90 * 86_400_000;
/** ClickHouse holds seconds in 32 bits in places. */
const EXPIRES_MAX_MS = Date.UTC(2100, 0);
const base = '/v1/admin/analysts';
const errors = ['analysts_not_set_up', 'query_unavailable'] as const;

type NewAnalyst = Static<typeof api.newAnalyst>;

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export const analystRoutes = resource('Analysts', [
  route('GET', base, 'listAnalysts', {
    access: ofListed('tokens.manage'),
    summary: 'List the users of ClickHouse that read sites where you manage tokens',
    success: { status: 200, schema: api.analystsShape, description: 'Analysts, by their ids' },
    errors,
    async gather(_input, { analysts }, world) {
      if (analysts === null) return refused('analysts_not_set_up');
      const items = (await analysts.list()).filter((one) => isManaged(one, world)).map((one) => itemOf(one, world));
      const body: api.AnalystsAnswer = { items };
      return { kind: 'answered', body };
    },
  }),
  route('POST', base, 'makeAnalyst', {
    access: {
      permission: 'tokens.manage',
      of: ({ body }) => (body as NewAnalyst).site_ids.map((site) => ({ site })),
    },
    requiresReauthentication: () => true,
    summary: 'Make a user of ClickHouse that reads some sites, and show its password, once',
    body: api.newAnalyst,
    success: { status: 201, schema: api.madeAnalystShape, description: 'The analyst with the password' },
    errors: [...errors, 'site_unknown', 'analyst_exists', 'limit_reached', 'settings_not_stored'],
    async gather({ body: { analyst_id: analystId, site_ids, expires_at } }, { analysts, note, now }, before) {
      if (analysts === null) return refused('analysts_not_set_up');
      const expiresMs = expires_at === undefined ? before.nowMs + LIFE_MS : expires_at;
      if (expiresMs !== null && (expiresMs <= before.nowMs || expiresMs > EXPIRES_MAX_MS)) {
        const message = 'lies after now, and before the year 2100';
        return refused('settings_invalid', [problem('expiry_malformed', 'expires_at', message)]);
      }
      const there = await analysts.list();
      if (there.some((one) => one.analystId === analystId)) return refused('analyst_exists');
      const refusal = refusalOf(site_ids, there, before);
      if (refusal !== null) return refusal;
      const world = await note(`analyst/${analystId}`, { done: 'analyst.make', site_ids, expires_at: expiresMs });
      if ('kind' in world) return world;
      const { principal, nowMs, randomBytes } = world;
      const password = randomPassword(randomBytes);
      const wanted = {
        ...{ analystId, siteIds: [...new Set(site_ids)], createdMs: nowMs, createdBy: principal.actor, expiresMs },
        passwordSha256: hash('sha256', password),
      };
      const made = await analysts.make(wanted, (known) => refusalOf(site_ids, known, now()));
      if (made.kind === 'refused') return made.refusal;
      if (made.kind === 'exists') return refused('analyst_exists');
      const answer: api.MadeAnalyst = { password, analyst: itemOf(made.analyst, world) };
      return { kind: 'answered', body: answer };
    },
  }),
  route('DELETE', `${base}/{analyst_id}`, 'revokeAnalyst', {
    protects: true,
    access: ofListed('tokens.manage'),
    summary: 'Revoke a user of ClickHouse, at once and for good; what it runs is ended',
    params: api.analystParams,
    success: { status: 200, schema: api.analystShape, description: 'The analyst that was' },
    errors: [...errors, 'analyst_unknown', 'settings_not_stored'],
    async gather({ params: { analyst_id } }, { analysts, note }, before) {
      if (analysts === null) return refused('analysts_not_set_up');
      const found = await managed(analysts, analyst_id, before);
      if (found === undefined) return refused('analyst_unknown');
      const world = await note(`analyst/${analyst_id}`, { done: 'analyst.revoke' });
      if ('kind' in world) return world;
      if (!isManaged(found, world)) return refused('analyst_unknown');
      await analysts.revoke(analyst_id);
      return { kind: 'answered', body: itemOf(found, world) };
    },
  }),
]);

/** Has the audit say that one is about to be revoked; a refusal: it may not be. */
type NoteRevoking = (about: string, what: Record<string, unknown>) => Promise<Pick<RequestContext, 'may'> | Refused>;

/**
 * Revokes the users of ClickHouse that a user made, where who asks manages them.
 *
 * @returns Their ids, and how many stay; null: ClickHouse did not answer, and some may be left.
 */
export async function revokeAnalystsOf(
  userId: string,
  analysts: AnalystUsers | null,
  world: Pick<RequestContext, 'may' | 'view'>,
  note: NoteRevoking,
): Promise<{ revoked: string[]; kept: number } | null> {
  const ended = await revokeSome(analysts, (one) => makerOf(one, world.view) === userId, world, note);
  return ended && { revoked: ended.revoked.map(({ analystId }) => analystId), kept: ended.kept.length };
}

/**
 * The users of ClickHouse that read a site, where who asks may see them, after those were revoked where that is asked for;
 * null: ClickHouse did not answer.
 */
export async function analystsOfSite(
  siteId: string,
  isRevoked: boolean,
  analysts: AnalystUsers | null,
  world: Pick<RequestContext, 'may'>,
  note: NoteRevoking,
): Promise<AnalystUser[] | null> {
  const isOfSite = (one: AnalystUser): boolean => one.siteIds.includes(siteId) && isManaged(one, world);
  const ended = await revokeSome(analysts, isOfSite, world, isRevoked ? note : null);
  return ended?.kept ?? null;
}

/** Revokes those that are meant and that who asks manages; null: ClickHouse did not answer, and some may be left. */
async function revokeSome(
  analysts: AnalystUsers | null,
  isMeant: (one: AnalystUser) => boolean,
  world: Pick<RequestContext, 'may'>,
  note: NoteRevoking | null,
): Promise<{ revoked: AnalystUser[]; kept: AnalystUser[] } | null> {
  if (analysts === null) return { revoked: [], kept: [] };
  const [revoked, kept]: [AnalystUser[], AnalystUser[]] = [[], []];
  try {
    for (const one of (await analysts.list()).filter(isMeant)) {
      const noted = isManaged(one, world) && (await note?.(`analyst/${one.analystId}`, { done: 'analyst.revoke' }));
      const isEnded = noted && !('kind' in noted);
      if (isEnded) await analysts.revoke(one.analystId);
      (isEnded ? revoked : kept).push(one);
    }
    return { revoked, kept };
  } catch (error) {
    if (error instanceof WarehouseError || error instanceof AnalystRightsError) return null;
    throw error;
  }
}

/** Why an analyst of some sites is not made, by those that there are. */
function refusalOf(
  siteIds: readonly string[],
  known: readonly AnalystUser[],
  world: RequestContext | Refused,
): Refused | null {
  if ('kind' in world) return world;
  const { table } = world.view;
  if (siteIds.some((id) => table.site(id) === undefined)) return refused('site_unknown');
  const held = known.map((one) => ownersOf(placesOf(one.siteIds), table));
  return hasRoom(held, ownersOf(placesOf(siteIds), table), ANALYSTS_MAX) ? null : refused('limit_reached');
}

/** One that does not say what it reads is the installation's. */
const placesOf = (siteIds: readonly string[]): Place[] =>
  siteIds.length === 0 ? ['installation'] : siteIds.map((site) => ({ site }));

/** The analyst of that id; what is of others is as what is not there. */
async function managed(
  analysts: AnalystUsers,
  analystId: string,
  world: RequestContext,
): Promise<AnalystUser | undefined> {
  return (await analysts.list()).find((one) => one.analystId === analystId && isManaged(one, world));
}

/**
 * Whoever manages tokens of one of its sites, as it reads that one; one that does not say which they are is the installation's.
 */
function isManaged({ siteIds }: AnalystUser, { may }: Pick<RequestContext, 'may'>): boolean {
  return placesOf(siteIds).some((place) => may('tokens.manage', place));
}

/** Of its sites those where who asks manages tokens. */
function itemOf(analyst: AnalystUser, { may, view }: RequestContext): api.AnalystItem {
  const { analystId, user, siteIds, createdMs, createdBy, expiresMs } = analyst;
  const site_ids = siteIds.filter((site) => may('tokens.manage', { site }));
  return {
    ...{ analyst_id: analystId, clickhouse_user: user, site_ids, created_at: createdMs, created_by: createdBy },
    expires_at: expiresMs,
    made_by: makerOf(analyst, view),
  };
}

/** The user who made one, by themselves or by a token of theirs. */
const makerOf = (analyst: AnalystUser, view: SettingsView): string | null =>
  userOfActor(analyst.createdBy) ?? userOfToken(analyst, view);

/** The user who issued the token that made an analyst: of those that had its label, the last that was there by then. */
function userOfToken({ createdMs, createdBy }: AnalystUser, view: SettingsView): string | null {
  if (createdMs === null) return null;
  const token = view.table
    .adminTokens()
    .filter(({ label, created_at }) => label === createdBy && created_at <= createdMs)
    .reduce<AdminToken | null>((last, one) => (last === null || one.created_at >= last.created_at ? one : last), null);
  return token === null ? null : issuingUser(view, token);
}

/**
 * The users of analysts, asked for no longer than ClickHouse answers. What fails is logged with what was to be done and
 * ClickHouse's own code, also when it fails after the probe has given up: a user may be half revoked then.
 */
export function logAnalysts(
  analysts: AnalystUsers,
  { guard }: Pick<WarehouseProbe, 'guard'>,
  logger: Logger,
): AnalystUsers {
  async function reached<T>(act: string, analyst: string | null, ask: () => Promise<T>): Promise<T> {
    const failed = (error: unknown): never => {
      // Its message is ClickHouse's code and the name of the code; statements, which have hashes of passwords, are in no error.
      logger.warn({ act, analyst, err: error }, 'ClickHouse user of an analyst could not be updated');
      throw error;
    };
    let isLogged = false;
    const asked = (): Promise<T> =>
      ask().catch((error: unknown) => {
        isLogged = true;
        return failed(error);
      });
    return guard(asked).catch((error: unknown) => (isLogged ? Promise.reject(error) : failed(error)));
  }
  return {
    list: () => reached('list', null, () => analysts.list()),
    make: (wanted, refusalOf) => reached('make', wanted.analystId, () => analysts.make(wanted, refusalOf)),
    revoke: (analystId) => reached('revoke', analystId, () => analysts.revoke(analystId)),
  };
}
