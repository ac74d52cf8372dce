import { type Static, Type } from 'typebox';
import { adminTokenKey } from '#pipelines/settings/address.ts';
import { issueToken, tokenProblems } from '#pipelines/settings/admin_tokens.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import type { AdminToken } from '#schemas/setting.ts';
import { done, type Outcome, type Route, refused, refusedFor, route } from './route.ts';
import {
  closed,
  hashField,
  metaFields,
  nameField,
  nothing,
  nullable,
  page,
  pageFields,
  pageOf,
  refusedAs,
  timeField,
} from './shapes.ts';
import { metaOf, refuseStale } from './versions.ts';

const ACTIVE_TOKENS_MAX = 100;
const tag = 'Admin tokens';
const base = '/v1/admin/tokens';

const tokenHash = hashField('SHA-256 of the token');
const label = nameField('Who or what holds it; recorded with every change');
const expiresAt = nullable(timeField('When it stops working'), refusedAs('expiry_malformed'));
const params = closed({ token_hash: tokenHash });

export const tokenShape = Type.Object({
  token_hash: tokenHash,
  shown_prefix: Type.String({ description: 'The first characters of the token' }),
  label,
  created_at: timeField('When it was issued'),
  expires_at: expiresAt,
  revoked_at: nullable(timeField('When it was revoked')),
  state: Type.Enum(['active', 'expired', 'revoked']),
  ...metaFields,
});
export type TokenItem = Static<typeof tokenShape>;

const issuedTokenShape = Type.Object({
  secret: Type.String({ description: 'The whole token: shown this once and stored nowhere' }),
  token: tokenShape,
});
export type IssuedTokenItem = Static<typeof issuedTokenShape>;

export const tokenRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listTokens',
    tag,
    summary: 'List admin tokens; of each only the first characters are known',
    params: nothing,
    query: closed(pageFields),
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: pageOf(tokenShape), description: 'Admin tokens, sorted by label' },
    errors: [],
    run({ query }, { view, nowMs }) {
      const body = page(
        view.table.adminTokens(),
        query,
        (token) => `${token.label}/${token.token_hash}`,
        (token) => itemOf(view, token, nowMs),
      );
      return done([], () => ({ body }));
    },
  }),
  route({
    method: 'POST',
    path: base,
    operationId: 'issueToken',
    tag,
    summary: 'Issue an admin token and show it, once',
    params: nothing,
    query: nothing,
    body: closed({ label, expires_at: Type.Optional(expiresAt) }),
    ifMatch: 'none',
    success: { status: 201, schema: issuedTokenShape, description: 'The token' },
    errors: ['token_exists', 'limit_reached'],
    run({ body }, { view, nowMs, randomBytes }) {
      const active = activeTokens(view, nowMs);
      if (active.some((token) => token.label === body.label)) return refused('token_exists');
      if (active.length >= ACTIVE_TOKENS_MAX) return refused('limit_reached');
      const issued = issueToken(randomBytes);
      const token: AdminToken = {
        token_hash: issued.tokenHash,
        shown_prefix: issued.shownPrefix,
        label: body.label,
        created_at: nowMs,
        expires_at: body.expires_at ?? null,
        revoked_at: null,
      };
      return (
        refusedFor(tokenProblems(token)) ??
        done([{ body: { admin_token: token } }], (after) => {
          const item = itemOf(after, token, nowMs);
          return { body: { secret: issued.secret, token: item }, version: item.version };
        })
      );
    },
  }),
  route({
    method: 'GET',
    path: `${base}/{token_hash}`,
    operationId: 'getToken',
    tag,
    summary: 'Read an admin token',
    params,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: tokenShape, description: 'The token' },
    errors: ['token_unknown'],
    run({ params: { token_hash } }, { view, nowMs }) {
      const token = view.table.adminToken(token_hash);
      return token === undefined ? refused('token_unknown') : written([], token, nowMs);
    },
  }),
  route({
    method: 'POST',
    path: `${base}/{token_hash}/revoke`,
    operationId: 'revokeToken',
    tag,
    summary: 'Revoke an admin token, at once and for good; the last active one stays',
    params,
    query: nothing,
    body: null,
    ifMatch: 'optional',
    success: { status: 200, schema: tokenShape, description: 'The revoked token' },
    errors: ['token_unknown', 'token_last'],
    run({ params: { token_hash }, ifMatch }, { view, nowMs }) {
      const before = view.table.adminToken(token_hash);
      if (before === undefined) return refused('token_unknown');
      const stale = refuseStale(view, adminTokenKey(token_hash), ifMatch, 'optional');
      if (stale !== null) return stale;
      const others = activeTokens(view, nowMs).filter((token) => token.token_hash !== token_hash);
      if (others.length === 0) return refused('token_last');
      const token = { ...before, revoked_at: before.revoked_at ?? nowMs };
      return written([token], token, nowMs);
    },
  }),
];

function written(changed: AdminToken[], token: AdminToken, nowMs: number): Outcome {
  return done(
    changed.map((item) => ({ body: { admin_token: item } })),
    (view) => {
      const item = itemOf(view, token, nowMs);
      return { body: item, version: item.version };
    },
  );
}

function activeTokens(view: SettingsView, nowMs: number): AdminToken[] {
  return view.table.adminTokens().filter((token) => stateOf(token, nowMs) === 'active');
}

function stateOf(token: AdminToken, nowMs: number): TokenItem['state'] {
  if (token.revoked_at !== null) return 'revoked';
  return token.expires_at !== null && nowMs >= token.expires_at ? 'expired' : 'active';
}

function itemOf(view: SettingsView, token: AdminToken, nowMs: number): TokenItem {
  return { ...token, state: stateOf(token, nowMs), ...metaOf(view, adminTokenKey(token.token_hash)) };
}
