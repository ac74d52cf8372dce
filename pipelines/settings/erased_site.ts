// What is removed of the settings when a site is erased as a whole.

import { auditedRecords, type Fact, type SettingRecord, type SettingsView } from './journal.ts';
import { apiKeyKey, destinationKey, domainProofKey, engageKey, savedKey, siteKey } from './table.ts';

/**
 * Removes every setting of a site, and whatever was given in it, so that a later site of the same id gives nobody anything. What is
 * removed stands in no entry of the audit, as entries say what there was; what is taken from users and tokens does. Empty where
 * nothing is left.
 *
 * @param by Who asked for the erasure.
 */
export function erasedSiteRecords(view: SettingsView, siteId: string, by: string, nowMs: number): SettingRecord[] {
  const { table } = view;
  const keys = [
    ...[...table.keysOfSite(siteId).keys()].map(apiKeyKey),
    ...table.destinations().flatMap(({ site_id, name }) => (site_id === siteId ? [destinationKey(siteId, name)] : [])),
    ...table.engageItems(siteId).map(({ kind, id }) => engageKey(siteId, kind, id)),
    ...table.savedItems(siteId).map(({ kind, id }) => savedKey(siteId, kind, id)),
    ...[...table.domainProofs(siteId).keys()].map((domain) => domainProofKey(siteId, domain)),
    ...(table.site(siteId) === undefined ? [] : [siteKey(siteId)]),
  ];
  return [
    ...auditedRecords(view, takenBack(view, siteId, nowMs), by, nowMs),
    ...keys.map((key) => ({ key, setting: null })),
  ];
}

/** Users without what they were given in the site; a token that has nothing else is revoked. */
function takenBack({ table }: SettingsView, siteId: string, nowMs: number): Fact[] {
  const isElsewhere = ({ site_id }: { site_id: string | null }): boolean => site_id !== siteId;
  const users = table.users().filter(({ grants }) => !grants.every(isElsewhere));
  const tokens = table.adminTokens().filter(({ grants }) => grants?.every(isElsewhere) === false);
  return [
    ...users.map((user) => ({ body: { user: { ...user, grants: user.grants.filter(isElsewhere) } } })),
    ...tokens.map((token) => {
      const grants = token.grants?.filter(isElsewhere) ?? [];
      const revoked_at = grants.length === 0 ? (token.revoked_at ?? nowMs) : token.revoked_at;
      return { body: { admin_token: { ...token, grants, revoked_at } } };
    }),
  ];
}
