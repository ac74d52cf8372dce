import type { AuditEntry, EngageItem, SavedKind, Setting } from '#schemas/setting.ts';
import { canonicalDomain } from './domains.ts';
import { ID_PATTERN } from './problems.ts';

/** Where a fact of site.config lives: the parsed form of its record key. */
export type SettingAddress =
  | { kind: 'account'; accountId: string }
  | { kind: 'site'; siteId: string }
  | { kind: 'key'; keyHash: string }
  | { kind: 'destination'; siteId: string; name: string }
  | { kind: 'admin_token'; tokenHash: string }
  | { kind: 'replay'; replayId: string }
  | { kind: 'engage'; siteId: string; itemKind: EngageItem['kind']; itemId: string }
  | { kind: 'domain_proof'; siteId: string; domain: string }
  | { kind: 'saved'; siteId: string; itemKind: SavedKind; itemId: string }
  | { kind: 'user'; userId: string }
  | { kind: 'audit'; accountId: string | null; slot: number }
  | { kind: 'changes_made'; by: string };

const HASH_PATTERN = /^[0-9a-f]{64}$/;

export const accountKey = (accountId: string): string => `account/${accountId}`;
export const siteKey = (siteId: string): string => `site/${siteId}`;
export const apiKeyKey = (keyHash: string): string => `key/${keyHash}`;
export const destinationKey = (siteId: string, name: string): string => `destination/${siteId}/${name}`;

export const adminTokenKey = (tokenHash: string): string => `admin_token/${tokenHash}`;

export const userKey = (userId: string): string => `user/${userId}`;

export const engageKey = (siteId: string, kind: EngageItem['kind'], id: string): string =>
  `engage/${siteId}/${kind}/${id}`;

export const domainProofKey = (siteId: string, domain: string): string => `domain_proof/${siteId}/${domain}`;

export const savedKey = (siteId: string, kind: SavedKind, id: string): string => `saved/${siteId}/${kind}/${id}`;

export const replayKey = (replayId: string): string => `replay/${replayId}`;

/** Entries of the audit of the installation itself; of each kind the newest take the slots of the oldest. */
export const AUDIT_SLOTS = 10_000;
const SLOT_PATTERN = /^\d{1,4}$/;
/** Where an entry is in its ring. */
export const auditSlot = ({ seq, slot = null }: AuditEntry): number => slot ?? seq % AUDIT_SLOTS;
export function auditKey(entry: AuditEntry): string {
  const { account_id = null } = entry;
  return account_id === null ? `audit/${auditSlot(entry)}` : `audit/${account_id}/${auditSlot(entry)}`;
}

export const changesMadeKey = (by: string): string => `changes_made/${by}`;

/** Reads a record key of site.config; null when it names no fact. */
export function parseSettingKey(recordKey: string): SettingAddress | null {
  const [kind, id = '', name, ...rest] = recordKey.split('/');
  if (kind === 'engage') return engageAddress(id, name ?? '', rest);
  if (kind === 'saved') return savedAddress(id, name ?? '', rest);
  if (kind === 'changes_made') return changesMadeAddress(recordKey.slice(kind.length + 1));
  if (rest.length > 0) return null;
  if (kind === 'audit') return auditAddress(id, name);
  if (kind === 'destination') return destinationAddress(id, name ?? '');
  if (kind === 'domain_proof') return domainProofAddress(id, name ?? '');
  if (name !== undefined) return null;
  if (kind === 'key') return HASH_PATTERN.test(id) ? { kind, keyHash: id } : null;
  if (kind === 'admin_token') return HASH_PATTERN.test(id) ? { kind, tokenHash: id } : null;
  if (!ID_PATTERN.test(id)) return null;
  if (kind === 'account') return { kind, accountId: id };
  if (kind === 'site') return { kind, siteId: id };
  if (kind === 'user') return { kind, userId: id };
  if (kind === 'replay') return { kind, replayId: id };
  return null;
}

function auditAddress(id: string, name: string | undefined): SettingAddress | null {
  const slot = name ?? id;
  const accountId = name === undefined ? null : id;
  if (!SLOT_PATTERN.test(slot) || (accountId !== null && !ID_PATTERN.test(accountId))) return null;
  return { kind: 'audit', accountId, slot: Number(slot) };
}

function changesMadeAddress(by: string): SettingAddress | null {
  const kind = parseSettingKey(by)?.kind;
  return kind === 'user' || kind === 'admin_token' ? { kind: 'changes_made', by } : null;
}

function engageAddress(siteId: string, itemKind: string, rest: readonly string[]): SettingAddress | null {
  const [itemId = '', ...more] = rest;
  if (more.length > 0 || !ID_PATTERN.test(siteId) || !ID_PATTERN.test(itemId)) return null;
  if (itemKind !== 'survey' && itemKind !== 'promo' && itemKind !== 'form') return null;
  return { kind: 'engage', siteId, itemKind, itemId };
}

function savedAddress(siteId: string, itemKind: string, rest: readonly string[]): SettingAddress | null {
  const [itemId = '', ...more] = rest;
  if (more.length > 0 || !ID_PATTERN.test(siteId) || !ID_PATTERN.test(itemId)) return null;
  return itemKind === 'question' || itemKind === 'board' ? { kind: 'saved', siteId, itemKind, itemId } : null;
}

function destinationAddress(siteId: string, name: string): SettingAddress | null {
  return ID_PATTERN.test(siteId) && ID_PATTERN.test(name) ? { kind: 'destination', siteId, name } : null;
}

function domainProofAddress(siteId: string, domain: string): SettingAddress | null {
  if (!ID_PATTERN.test(siteId) || canonicalDomain(domain) !== domain) return null;
  return { kind: 'domain_proof', siteId, domain };
}

/** The record key a setting belongs under; null unless exactly one of its bodies is set. */
export function keyOfSetting(setting: Setting): string | null {
  const keys: string[] = [];
  if (setting.account !== null) keys.push(accountKey(setting.account.account_id));
  if (setting.site !== null) keys.push(siteKey(setting.site.site_id));
  if (setting.key !== null) keys.push(apiKeyKey(setting.key.key_hash));
  if (setting.destination !== null) keys.push(destinationKey(setting.destination.site_id, setting.destination.name));
  if (setting.admin_token) keys.push(adminTokenKey(setting.admin_token.token_hash));
  if (setting.replay) keys.push(replayKey(setting.replay.replay_id));
  if (setting.engage) keys.push(engageKey(setting.engage.site_id, setting.engage.kind, setting.engage.id));
  if (setting.domain_proof) keys.push(domainProofKey(setting.domain_proof.site_id, setting.domain_proof.domain));
  if (setting.saved) keys.push(savedKey(setting.saved.site_id, setting.saved.kind, setting.saved.id));
  if (setting.user) keys.push(userKey(setting.user.user_id));
  if (setting.audit) keys.push(auditKey(setting.audit));
  if (setting.changes_made) keys.push(changesMadeKey(setting.changes_made.by));
  const [only = null] = keys;
  return keys.length === 1 ? only : null;
}
