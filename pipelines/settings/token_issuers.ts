import type { AdminToken } from '#schemas/setting.ts';
import { type Principal, placeOf } from './access.ts';
import { userOfActor } from './dashboard_users.ts';
import type { SettingsView } from './journal.ts';
import { adminTokenKey, parseSettingKey, userKey } from './setting_address.ts';

type IssuersView = Pick<SettingsView, 'table' | 'record'>;

/** Who issues a token, by their own fact: tokens issue others, and labels are used again. */
export const issuerKey = ({ kind, id }: Principal): string => (kind === 'user' ? userKey(id) : adminTokenKey(id));

/**
 * The user who issued a token, by themselves or by a token of theirs; null: nobody did, or it is not known. What they were
 * given by it does not end with them.
 */
export function issuingUser(view: IssuersView, token: AdminToken): string | null {
  const address = parseSettingKey(firstIssuer(view, token));
  return address?.kind === 'user' ? address.userId : null;
}

/**
 * Who stands behind somebody, by their own fact: the user or the token that a token goes back to, and whoever made that user. Whoever
 * may something in the whole installation stands for themselves.
 */
export function behind(view: IssuersView, principal: Principal): string {
  const token = principal.kind === 'token' ? view.table.adminToken(principal.id) : undefined;
  return firstMaker(view, token === undefined ? issuerKey(principal) : firstIssuer(view, token));
}

function firstMaker(view: IssuersView, first: string): string {
  const passed = new Set<string>();
  let key = first;
  for (;;) {
    const address = parseSettingKey(key);
    const user = address?.kind === 'user' ? view.table.user(address.userId) : undefined;
    const maker = user?.made_by ?? null;
    if (user === undefined || maker === null || passed.has(maker)) return key;
    if (user.grants.some((grant) => placeOf(grant) === 'installation')) return key;
    passed.add(maker);
    const made = parseSettingKey(maker);
    const token = made?.kind === 'admin_token' ? view.table.adminToken(made.tokenHash) : undefined;
    key = token === undefined ? maker : firstIssuer(view, token);
  }
}

/** The first of those who issued a token, and one another: a user, or the token that nobody issued. */
function firstIssuer(view: IssuersView, token: AdminToken): string {
  const passed = new Set<string>();
  let current = token;
  for (;;) {
    passed.add(current.token_hash);
    const key = issuerOf(view, current);
    if (key === null) return adminTokenKey(current.token_hash);
    const address = parseSettingKey(key);
    const issuer = address?.kind === 'admin_token' ? view.table.adminToken(address.tokenHash) : undefined;
    if (issuer === undefined || passed.has(issuer.token_hash)) return key;
    current = issuer;
  }
}

/** Of a token that was issued before issuers were recorded, whoever wrote it last: a token is only changed by revoking it. */
function issuerOf({ record }: Pick<IssuersView, 'record'>, token: AdminToken): string | null {
  const { issuer = null, token_hash, revoked_at } = token;
  if (issuer !== null || revoked_at !== null) return issuer;
  const userId = userOfActor(record(adminTokenKey(token_hash))?.changed_by ?? '');
  return userId === null ? null : userKey(userId);
}
