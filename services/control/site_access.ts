import type { AnalystUser } from '#infra/clickhouse/analyst_users.ts';
import { mayGive } from '#pipelines/settings/access.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { lifetimeRefusal } from '#pipelines/settings/keys.ts';
import type { AdminToken, ApiKey, Grant, User } from '#schemas/setting.ts';
import type { SiteAccess, SiteAccessKind, StillWorks } from '#services/control_api/site_shapes.ts';
import { analystsOfSite } from './analyst_routes.ts';
import type { Sources, World } from './route.ts';
import { isActive } from './tokens.ts';

/**
 * What is given in a site itself. What is given in its account goes and comes with the account; this stays whoever the site is
 * moved to.
 */
interface Given {
  users: User[];
  tokens: AdminToken[];
  keys: ApiKey[];
}

const isOf =
  (siteId: string) =>
  ({ site_id }: Grant): boolean =>
    site_id === siteId;

function givenIn(siteId: string, { table }: SettingsView, nowMs: number): Given {
  return {
    users: table.users().filter(({ grants, disabled_at }) => disabled_at === null && grants.some(isOf(siteId))),
    tokens: table.adminTokens().filter((token) => isActive(token, nowMs) && token.grants?.some(isOf(siteId)) === true),
    keys: [...table.keysOfSite(siteId).values()].filter((key) => lifetimeRefusal(key, nowMs) === null),
  };
}

/** Facts that end what is given in a site, as far as who asks may take it back: a token ends with all that it may elsewhere. */
export function endedAccess(siteId: string, kinds: readonly SiteAccessKind[], world: World): Fact[] {
  const { view, nowMs, principal, may } = world;
  const { users, tokens, keys } = givenIn(siteId, view, nowMs);
  const isTakenBack = (grants: readonly Grant[], permission: 'users.manage' | 'tokens.manage'): boolean =>
    grants.every((grant) => mayGive(principal, grant, permission, view.table));
  const facts: Fact[] = [];
  if (kinds.includes('grants')) {
    for (const user of users) {
      const grants = user.grants.filter((grant) => !isOf(siteId)(grant) || !isTakenBack([grant], 'users.manage'));
      facts.push({ body: { user: { ...user, grants } } });
    }
  }
  if (kinds.includes('tokens')) {
    const theirs = tokens.filter(({ grants }) => isTakenBack(grants ?? [], 'tokens.manage'));
    facts.push(...theirs.map((token) => ({ body: { admin_token: { ...token, revoked_at: nowMs } } })));
  }
  if (kinds.includes('keys') && may('keys.change', { site: siteId })) {
    facts.push(...keys.map((key) => ({ body: { key: { ...key, revoked_at: nowMs } } })));
  }
  return facts;
}

/** What of it still works. */
export function accessOf(siteId: string, view: SettingsView, nowMs: number): SiteAccess {
  const { users, tokens, keys } = givenIn(siteId, view, nowMs);
  return {
    grants: users.flatMap(({ user_id, grants }) =>
      grants.filter(isOf(siteId)).map(({ role }) => ({ user_id, role: role as SiteAccess['grants'][number]['role'] })),
    ),
    tokens: tokens.map(({ token_hash, label }) => ({ token_hash, label })),
    keys: keys.map(({ key_hash, shown_prefix, label }) => ({ key_hash, shown_prefix, label })),
  };
}

/** The same with the users of ClickHouse that read the site, which are ended before where that is asked for. */
export async function withAnalysts(
  siteId: string,
  kinds: readonly SiteAccessKind[],
  access: SiteAccess,
  { analysts, note }: Pick<Sources, 'analysts' | 'note'>,
  world: World,
): Promise<StillWorks> {
  const left = await analystsOfSite(siteId, kinds.includes('analysts'), analysts, world, async (about, what) => {
    const noted = await note(about, what);
    return !('kind' in noted);
  });
  const idsOf = (some: readonly AnalystUser[]) => some.map(({ analystId }) => ({ analyst_id: analystId }));
  return { ...access, analysts: left === null ? null : idsOf(left) };
}
