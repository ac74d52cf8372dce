// API keys and admin tokens: issuing them, checking tokens, who issued these, and when dead ones are forgotten.

import { timingSafeEqual } from 'node:crypto';
import type { AdminToken, ApiKey } from '#schemas/setting.ts';
import { inAllMax, OWNER_OF_ALL, type Owner, ownersOf, type Principal, placeOf } from './access.ts';
import { hashKey, shownPrefix } from './callers.ts';
import { isReservedActor, userOfActor } from './dashboard_users.ts';
import type { Fact, SettingsView } from './journal.ts';
import { isPlainText, type Problem, unless } from './problems.ts';
import { type RandomBytes, randomBase62 } from './secrets.ts';
import { adminTokenKey, apiKeyKey, parseSettingKey, type SettingsTable, userKey } from './table.ts';
import { isExpiry, personalProblems } from './validate.ts';

/** A key or token as issued. The secret is shown once and kept nowhere; the rest is stored. */
export interface Issued {
  secret: string;
  hash: string;
  shownPrefix: string;
}

type TokenRefusalCode = 'token_missing' | 'token_invalid' | 'token_revoked' | 'token_expired';
export type TokenCheck = { ok: true; token: AdminToken } | { ok: false; code: TokenRefusalCode };

/**
 * Of tokens one for those that may do everything, and one for those with grants: a service of before there were grants does not
 * know the latter, and would else take them for the former.
 */
const PREFIXES = {
  browser: 'svc_pk_',
  server: 'svc_sk_',
  all: 'svc_at_',
  scoped: 'svc_st_',
  share: 'svc_sh_',
} as const;
const SECRET_CHARACTERS = 32;
const TOKEN_PATTERN = /^svc_[as]t_[0-9A-Za-z]{32}$/;
const LABEL_CHARACTERS_MAX = 100;

/** Issues a key for a caller, an admin token, or what opens a shared link: its prefix and 32 base62 characters, about 190 bits. */
export function issueSecret(kind: keyof typeof PREFIXES, randomBytes: RandomBytes): Issued {
  const secret = PREFIXES[kind] + randomBase62(SECRET_CHARACTERS, randomBytes);
  return { secret, hash: hashKey(secret), shownPrefix: shownPrefix(secret) };
}

/**
 * Decides whether the bearer of a token may change settings. The token is found by its hash, and the hashes are
 * compared in constant time, so that neither tells how close a guess came.
 *
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function checkToken(table: SettingsTable, presented: string | null, nowMs: number): TokenCheck {
  if (presented === null || presented === '') return { ok: false, code: 'token_missing' };
  if (!TOKEN_PATTERN.test(presented)) return { ok: false, code: 'token_invalid' };
  const presentedHash = hashKey(presented);
  const token = table.adminToken(presentedHash);
  const isSame = timingSafeEqual(Buffer.from(presentedHash), Buffer.from(token?.token_hash ?? '0'.repeat(64)));
  return isSame ? stateOf(token, nowMs) : { ok: false, code: 'token_invalid' };
}

/** Checks a token that was presented before, by its hash: whether it still opens anything. */
export function checkKnownToken(table: SettingsTable, tokenHash: string, nowMs: number): TokenCheck {
  return stateOf(table.adminToken(tokenHash), nowMs);
}

function stateOf(token: AdminToken | undefined, nowMs: number): TokenCheck {
  if (token === undefined) return { ok: false, code: 'token_invalid' };
  if (token.revoked_at !== null) return { ok: false, code: 'token_revoked' };
  if (token.expires_at !== null && nowMs >= token.expires_at) return { ok: false, code: 'token_expired' };
  return { ok: true, token };
}

/** Checks a token before it is written; no problem: it may be. */
export function tokenProblems(token: AdminToken): Problem[] {
  const { label, created_at: createdAt, expires_at: expiresAt } = token;
  return [
    ...unless(isPlainText(label, 1, LABEL_CHARACTERS_MAX), 'name_malformed', 'label', 'has 1 to 100 characters'),
    ...unless(!isReservedActor(label), 'name_malformed', 'label', 'names who changes settings without a token'),
    ...personalProblems(label, 'label'),
    ...unless(isExpiry(expiresAt, createdAt), 'expiry_malformed', 'expires_at', 'is a time after the token is created'),
  ];
}

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

/** The same of a user. */
export const behindUser = (view: IssuersView, userId: string): string => firstMaker(view, userKey(userId));

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
export function expiredKeysToDrop(table: SettingsTable, siteId: string, nowMs: number): Fact[] {
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
export function expiredTokensToDrop(table: SettingsTable, owners: readonly Owner[], nowMs: number): Fact[] {
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
