import { timingSafeEqual } from 'node:crypto';
import type { AdminToken } from '#schemas/setting.ts';
import { isReservedActor } from './dashboard_users.ts';
import { hashKey } from './keys.ts';
import { type Problem, unless } from './problem.ts';
import { type RandomBytes, randomBase62 } from './random_text.ts';
import type { SettingsTable } from './table.ts';
import { isPlainText } from './text_rules.ts';
import { isExpiry, personalProblems } from './validate.ts';

/** A token as issued. The secret is shown once and kept nowhere; the rest is stored. */
export interface IssuedToken {
  secret: string;
  tokenHash: string;
  shownPrefix: string;
}

type TokenRefusalCode = 'token_missing' | 'token_invalid' | 'token_revoked' | 'token_expired';
export type TokenCheck = { ok: true; token: AdminToken } | { ok: false; code: TokenRefusalCode };

/**
 * One for those that may do everything, and one for those with grants: a service of before there were grants does not know
 * the latter, and would else take them for the former.
 */
const PREFIXES = { all: 'svc_at_', scoped: 'svc_st_' } as const;
const SECRET_CHARACTERS = 32;
const SHOWN_CHARACTERS = PREFIXES.all.length + 4;
const TOKEN_PATTERN = /^svc_[as]t_[0-9A-Za-z]{32}$/;
const LABEL_CHARACTERS_MAX = 100;

/** Issues an admin token: svc_at_, or svc_st_ where it has grants, and 32 base62 characters, about 190 bits. */
export function issueToken(randomBytes: RandomBytes, kind: keyof typeof PREFIXES = 'all'): IssuedToken {
  const secret = PREFIXES[kind] + randomBase62(SECRET_CHARACTERS, randomBytes);
  return { secret, tokenHash: hashKey(secret), shownPrefix: secret.slice(0, SHOWN_CHARACTERS) };
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
