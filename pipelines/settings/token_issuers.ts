import type { AdminToken } from '#schemas/setting.ts';
import type { Principal } from './access.ts';
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

/** Who stands behind somebody, by their own fact: the user or the token that a token goes back to, and else they themselves. */
export function behind(view: IssuersView, principal: Principal): string {
  const token = principal.kind === 'token' ? view.table.adminToken(principal.id) : undefined;
  return token === undefined ? issuerKey(principal) : firstIssuer(view, token);
}

/**
 * Whether a change was made by somebody or by a token that goes back to them.
 *
 * @param first A user, or a token that nobody issued, by their own fact.
 */
export function madeUnder(view: IssuersView, first: string): (changedBy: string, changedMs: number) => boolean {
  const oldestFirst = view.table.adminTokens().toSorted((a, b) => a.created_at - b.created_at);
  const byLabel = Map.groupBy(oldestFirst, ({ label }) => label);
  const isUnder = new Map<string, boolean>();
  return (changedBy, changedMs) => {
    const userId = userOfActor(changedBy);
    if (userId !== null) return userKey(userId) === first;
    const token = ofThatTime(byLabel.get(changedBy) ?? [], changedMs);
    if (token === undefined) return false;
    const known = isUnder.get(token.token_hash) ?? firstIssuer(view, token) === first;
    isUnder.set(token.token_hash, known);
    return known;
  };
}

/** Of tokens that had the same label, one after the other, whose it was at a time. Clocks differ: before all it was the first's. */
const ofThatTime = (oldestFirst: readonly AdminToken[], timeMs: number): AdminToken | undefined =>
  oldestFirst.findLast(({ created_at }) => created_at <= timeMs) ?? oldestFirst[0];

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
