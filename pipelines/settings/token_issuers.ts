import type { AdminToken } from '#schemas/setting.ts';
import type { Principal } from './access.ts';
import { userOfActor } from './dashboard_users.ts';
import type { SettingsView } from './journal.ts';
import { adminTokenKey, parseSettingKey, userKey } from './setting_address.ts';

/** Who issues a token, by their own fact: tokens issue others, and labels are used again. */
export const issuerKey = ({ kind, id }: Principal): string => (kind === 'user' ? userKey(id) : adminTokenKey(id));

/**
 * The user who issued a token, by themselves or by a token of theirs; null: nobody did, or it is not known. What they were
 * given by it does not end with them.
 */
export function issuingUser(view: Pick<SettingsView, 'table' | 'record'>, token: AdminToken): string | null {
  const passed = new Set<string>();
  let current: AdminToken | undefined = token;
  while (current !== undefined && !passed.has(current.token_hash)) {
    passed.add(current.token_hash);
    const address = parseSettingKey(issuerOf(view, current) ?? '');
    if (address?.kind === 'user') return address.userId;
    current = address?.kind === 'admin_token' ? view.table.adminToken(address.tokenHash) : undefined;
  }
  return null;
}

/** Of a token that was issued before issuers were recorded, whoever wrote it last: a token is only changed by revoking it. */
function issuerOf({ record }: Pick<SettingsView, 'record'>, token: AdminToken): string | null {
  const { issuer = null, token_hash, revoked_at } = token;
  if (issuer !== null || revoked_at !== null) return issuer;
  const userId = userOfActor(record(adminTokenKey(token_hash))?.changed_by ?? '');
  return userId === null ? null : userKey(userId);
}
