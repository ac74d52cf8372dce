// Admin tokens: listed, issued and revoked, and the first one of an installation.

import type { Static } from 'typebox';
import type { ControlConfig } from '#infra/config/control_config.ts';
import { canGrant, hasRoom, OWNER_OF_ALL, ownersOf, type Principal, placeOf } from '#pipelines/settings/access.ts';
import {
  expiredTokensToDrop,
  issuerKey,
  issueSecret,
  issuingUser,
  tokenProblems,
} from '#pipelines/settings/admin_tokens.ts';
import { CONFIGURATION, fullGrant, grantProblems } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type SettingsJournal, type SettingsView } from '#pipelines/settings/journal.ts';
import { adminTokenKey } from '#pipelines/settings/table.ts';
import type { AdminToken, Grant } from '#schemas/setting.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import { issuedTokenShape, newToken, type TokenItem, tokenParams, tokenShape } from '#services/control_api/users.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import {
  done,
  doneWith,
  listed,
  type Needs,
  type Outcome,
  ofListed,
  refused,
  refusedFor,
  resource,
  route,
} from '../route.ts';

/** Of each account that they may something in, and of the installation itself. */
const ACTIVE_TOKENS_MAX = 100;
/** Of tokens whose end is not said: one that nobody knows of any more ends by itself. */
const LIFE_MS = 90 * 86_400_000;
const base = '/v1/admin/tokens';

/** Wherever the token may do something. */
const ofToken: Needs = {
  permission: 'tokens.manage',
  of({ params }, { table }) {
    const token = table.adminToken((params as Static<typeof tokenParams>).token_hash);
    return token === undefined ? 'installation' : grantsOf(token).map(placeOf);
  },
};

export const tokenRoutes = resource('Admin tokens', [
  route('GET', base, 'listTokens', {
    access: ofListed('tokens.manage'),
    summary: 'List admin tokens; of each only the first characters are known',
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(tokenShape), description: 'Admin tokens, sorted by label' },
    run({ query }, { view, nowMs, may }) {
      const seen = view.table
        .adminTokens()
        .filter((token) => grantsOf(token).every((grant) => may('tokens.manage', placeOf(grant))));
      return listed(seen, query, ['label', 'token_hash'], (token) => itemOf(view, token, nowMs));
    },
  }),
  route('POST', base, 'issueToken', {
    access: ofListed('tokens.manage'),
    requiresReauthentication: () => true,
    summary: 'Issue an admin token and show it, once',
    body: newToken,
    success: { status: 201, schema: issuedTokenShape, description: 'The token' },
    errors: ['token_exists', 'limit_reached'],
    run({ body }, { view, nowMs, randomBytes, principal }) {
      const grants = body.grants === undefined ? [OWNER_OF_ALL] : body.grants.map(fullGrant);
      const malformed = grantProblems(grants, view.table);
      const isGiven = grants.every((grant) => canGrant(principal, grant, 'tokens.manage', view.table));
      if (!isGiven) return refused('permission_missing');
      if (malformed.length > 0) return refused('settings_invalid', malformed);
      const active = activeTokens(view, nowMs);
      if (active.some((token) => token.label === body.label)) return refused('token_exists');
      const held = active.map((token) => ownersOf(grantsOf(token).map(placeOf), view.table));
      const owners = ownersOf(grants.map(placeOf), view.table);
      if (!hasRoom(held, owners, ACTIVE_TOKENS_MAX)) return refused('limit_reached');
      const issued = issueSecret(body.grants === undefined ? 'all' : 'scoped', randomBytes);
      const token: AdminToken = {
        token_hash: issued.hash,
        shown_prefix: issued.shownPrefix,
        label: body.label,
        created_at: nowMs,
        expires_at: body.expires_at === undefined ? nowMs + LIFE_MS : body.expires_at,
        revoked_at: null,
        grants: body.grants === undefined ? null : grants,
        issuer: issuerKey(principal),
      };
      return (
        refusedFor(tokenProblems(token)) ??
        done([{ body: { admin_token: token } }, ...expiredTokensToDrop(view.table, owners, nowMs)], (after) => {
          const item = itemOf(after, token, nowMs);
          return { body: { secret: issued.secret, token: item }, version: item.version };
        })
      );
    },
  }),
  route('GET', `${base}/{token_hash}`, 'getToken', {
    access: ofToken,
    summary: 'Read an admin token',
    params: tokenParams,
    success: { status: 200, schema: tokenShape, description: 'The token' },
    errors: ['token_unknown'],
    run({ params: { token_hash } }, { view, nowMs }) {
      const token = view.table.adminToken(token_hash);
      return token === undefined ? refused('token_unknown') : written([], token, nowMs);
    },
  }),
  route('POST', `${base}/{token_hash}/revoke`, 'revokeToken', {
    protects: true,
    access: ofToken,
    summary: 'Revoke an admin token, at once and for good; the last active one stays',
    params: tokenParams,
    ifMatch: 'optional',
    success: { status: 200, schema: tokenShape, description: 'The revoked token' },
    errors: ['token_unknown', 'token_last'],
    run({ params: { token_hash }, ifMatch }, { view, nowMs, principal }) {
      const before = view.table.adminToken(token_hash);
      if (before === undefined) return refused('token_unknown');
      const stale = checkIfMatch(view, adminTokenKey(token_hash), ifMatch, 'optional');
      if (stale !== null) return stale;
      const isTakenBack = grantsOf(before).every((grant) => canGrant(principal, grant, 'tokens.manage', view.table));
      if (!isTakenBack) return refused('permission_missing');
      if (isLast(before, activeTokens(view, nowMs))) return refused('token_last');
      const token = { ...before, revoked_at: before.revoked_at ?? nowMs };
      return written([token], token, nowMs);
    },
  }),
]);

function written(changed: AdminToken[], token: AdminToken, nowMs: number): Outcome {
  const facts = changed.map((item) => ({ body: { admin_token: item } }));
  return doneWith(facts, (view) => itemOf(view, token, nowMs));
}

const grantsOf = ({ grants }: AdminToken): readonly Grant[] => grants ?? [OWNER_OF_ALL];

/** Whether no other token would be left that may do everything. */
function isLast(token: AdminToken, active: readonly AdminToken[]): boolean {
  const isOfAll = (one: AdminToken): boolean => (one.grants ?? null) === null;
  return isOfAll(token) && !active.some((other) => isOfAll(other) && other.token_hash !== token.token_hash);
}

/** Whether a token works. */
export const isActive = (token: AdminToken, nowMs: number): boolean => stateOf(token, nowMs) === 'active';

function activeTokens(view: SettingsView, nowMs: number): AdminToken[] {
  return view.table.adminTokens().filter((token) => isActive(token, nowMs));
}

/**
 * The tokens that a user issued and that still work, revoked where who asks may do that, but for the last that may do everything;
 * and how many of them go on working.
 */
export function revokedIssued(
  userId: string,
  view: SettingsView,
  principal: Principal,
  nowMs: number,
): { revoked: AdminToken[]; kept: number } {
  let active = activeTokens(view, nowMs);
  const theirs = active.filter((token) => issuingUser(view, token) === userId);
  const revoked: AdminToken[] = [];
  for (const token of theirs) {
    const isTakenBack = grantsOf(token).every((grant) => canGrant(principal, grant, 'tokens.manage', view.table));
    if (!isTakenBack || isLast(token, active)) continue;
    active = active.filter(({ token_hash }) => token_hash !== token.token_hash);
    revoked.push({ ...token, revoked_at: nowMs });
  }
  return { revoked, kept: theirs.length - revoked.length };
}

function stateOf(token: AdminToken, nowMs: number): TokenItem['state'] {
  if (token.revoked_at !== null) return 'revoked';
  return token.expires_at !== null && nowMs >= token.expires_at ? 'expired' : 'active';
}

function itemOf(view: SettingsView, token: AdminToken, nowMs: number): TokenItem {
  const { issuer: _issuer, ...shown } = token;
  return {
    ...shown,
    issued_by: issuingUser(view, token),
    grants: token.grants ?? null,
    state: stateOf(token, nowMs),
    ...metaOf(view, adminTokenKey(token.token_hash)),
  };
}

/**
 * Puts the configured first token on the topic, so that there is one to issue others with. A token that is there
 * already stays as it is: one that was revoked is not brought back by a restart.
 */
export async function ensureFirstToken(
  journal: SettingsJournal,
  { hash, label }: NonNullable<ControlConfig['firstToken']>,
  nowMs: number,
): Promise<void> {
  const token: AdminToken = {
    token_hash: hash,
    shown_prefix: 'svc_at_',
    label,
    created_at: nowMs,
    expires_at: null,
    revoked_at: null,
  };
  await journal.change((view) => {
    const facts = view.table.adminToken(hash) === undefined ? [{ body: { admin_token: token } }] : [];
    return { records: auditedRecords(view, facts, CONFIGURATION, nowMs), result: undefined };
  });
}
