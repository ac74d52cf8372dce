import type { AdminToken, ApiKey } from '#schemas/setting.ts';
import { OWNER_OF_ALL, placeOf } from './access.ts';
import { inAllMax, type Owner, ownersOf } from './account_limits.ts';
import type { Fact } from './journal.ts';
import { adminTokenKey, apiKeyKey } from './setting_address.ts';
import type { SettingsTable } from './table.ts';

/** Revoked and expired keys of each site that are remembered when another is issued. */
export const DEAD_KEYS_MAX = 100;
/** Likewise tokens of each account that they might something in, and of the installation. */
export const DEAD_TOKENS_MAX = 100;
/** Changes that issuing one more brings with it, which count with those of whoever issues it. */
export const FORGOTTEN_AT_ONCE_MAX = 20;

const DAY_MS = 86_400_000;

type Mortal = Pick<ApiKey | AdminToken, 'revoked_at' | 'expires_at'>;

/** When a key or a token stopped to work; infinite where it works for good. */
const diedAt = ({ revoked_at, expires_at }: Mortal): number =>
  Math.min(revoked_at ?? Number.POSITIVE_INFINITY, expires_at ?? Number.POSITIVE_INFINITY);

/** Those that do not work at a time, the longest dead first. Revocation does not look at the clock. */
function deadOf<T extends Mortal>(all: readonly T[], nowMs: number): T[] {
  const dead = all.filter((one) => one.revoked_at !== null || diedAt(one) <= nowMs);
  return dead.sort((a, b) => diedAt(a) - diedAt(b));
}

const surplus = <T>(oldestFirst: readonly T[], max: number): T[] =>
  oldestFirst.slice(0, Math.max(0, oldestFirst.length - max));

/** Facts that remove the longest dead keys of a site, some at a time, beyond those remembered; the audit has each. */
export function forgottenKeys(table: SettingsTable, siteId: string, nowMs: number): Fact[] {
  const dead = deadOf([...table.keysOfSite(siteId).values()], nowMs);
  const forgotten = surplus(dead, DEAD_KEYS_MAX).slice(0, FORGOTTEN_AT_ONCE_MAX);
  return forgotten.map(({ key_hash }) => ({ removedKey: apiKeyKey(key_hash) }));
}

/**
 * Facts that remove the longest dead tokens of some owners, some at a time, beyond those that are remembered. What they had issued is their
 * issuers' then, so that it is still known whose it is. For a day after its death it is known whose changes those of a token
 * are, as they count with those of its issuer. A token that nobody issued stays: the configured first one would come
 * back with the next start.
 */
export function forgottenTokens(table: SettingsTable, owners: readonly Owner[], nowMs: number): Fact[] {
  const all = table.adminTokens();
  const dead = deadOf(all, nowMs).filter(({ issuer }) => (issuer ?? null) !== null);
  const forgotten = new Set(surplus(dead, inAllMax(DEAD_TOKENS_MAX)));
  const held = dead.map((token) => ({ token, owners: ownersOf((token.grants ?? [OWNER_OF_ALL]).map(placeOf), table) }));
  for (const owner of owners) {
    const own = held.filter((one) => one.owners.includes(owner)).map(({ token }) => token);
    for (const token of surplus(own, DEAD_TOKENS_MAX)) forgotten.add(token);
  }
  const longDead = [...forgotten].filter((token) => diedAt(token) < nowMs - DAY_MS);
  return firstOf(longDead, all);
}

/** As many of the first as may go at once; of one that issued more, only what it issued is handed on. */
function firstOf(forgotten: readonly AdminToken[], all: readonly AdminToken[]): Fact[] {
  for (let count = Math.min(forgotten.length, FORGOTTEN_AT_ONCE_MAX); count > 0; count--) {
    const facts = withoutTokens(forgotten.slice(0, count), all);
    if (facts.length <= FORGOTTEN_AT_ONCE_MAX || count === 1) return facts.slice(0, FORGOTTEN_AT_ONCE_MAX);
  }
  return [];
}

/** What removes tokens, after what hands on those that they issued. */
function withoutTokens(forgotten: readonly AdminToken[], all: readonly AdminToken[]): Fact[] {
  const issuerOf = new Map(forgotten.map(({ token_hash, issuer = null }) => [adminTokenKey(token_hash), issuer]));
  const left = all.filter(({ token_hash }) => !issuerOf.has(adminTokenKey(token_hash)));
  const handedOn = left.flatMap((token): Fact[] => {
    const issuer = remaining(token.issuer ?? null, issuerOf);
    return issuer === (token.issuer ?? null) ? [] : [{ body: { admin_token: { ...token, issuer } } }];
  });
  return [...handedOn, ...[...issuerOf.keys()].map((removedKey) => ({ removedKey }))];
}

/** The nearest issuer that stays. */
function remaining(issuer: string | null, issuerOf: ReadonlyMap<string, string | null>): string | null {
  const passed = new Set<string>();
  let current = issuer;
  while (current !== null && issuerOf.has(current) && !passed.has(current)) {
    passed.add(current);
    current = issuerOf.get(current) ?? null;
  }
  return current;
}
