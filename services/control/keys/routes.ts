// API keys of sites: issued, changed, rotated, revoked.
import { expiredKeysToDrop, type Issued, issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { lifetimeRefusal } from '#pipelines/settings/callers.ts';
import { canonicalAllowedOrigin } from '#pipelines/settings/domains.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { apiKeyKey } from '#pipelines/settings/table.ts';
import { keyProblems } from '#pipelines/settings/validate.ts';
import type { ApiKey } from '#schemas/setting.ts';
import { pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/sites.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import {
  done,
  doneWith,
  inBodySite,
  inKeySite,
  listed,
  type Outcome,
  ofListed,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
} from '../route.ts';

const ACTIVE_KEYS_PER_SITE_MAX = 100;
/** Requests in 10 seconds that a site's own people may give a key. */
const OWN_RATE_LIMIT_MAX = 1_000;
const base = '/v1/admin/keys';

export const keyRoutes = resource('Keys', [
  route('GET', base, 'listKeys', {
    access: ofListed('keys.read'),
    showsKeyUse: true,
    summary: 'List keys; of those of servers only the first characters are known',
    query: api.keyQuery,
    success: { status: 200, schema: pageOf(api.keyShape), description: 'Keys, sorted by site' },
    errors: ['site_unknown'],
    run({ query }, world) {
      const { site_id, shown_prefix } = query;
      const { table } = world.view;
      if (site_id !== undefined && table.site(site_id) === undefined) return refused('site_unknown');
      const keys = table
        .keys()
        .filter((key) => site_id === undefined || key.site_id === site_id)
        .filter((key) => shown_prefix === undefined || key.shown_prefix === shown_prefix)
        .filter((key) => world.may('keys.read', { site: key.site_id }));
      return listed(keys, query, ['site_id', 'shown_prefix', 'key_hash'], (key) => itemOf(world.view, key, world));
    },
  }),
  route('POST', base, 'issueKey', {
    access: inBodySite('keys.change'),
    showsKeyUse: true,
    summary: 'Issue a key and show it; one of a server is shown once',
    body: api.newKey,
    success: { status: 201, schema: api.issuedKeyShape, description: 'The key' },
    errors: ['limit_reached'],
    run({ body }, world) {
      if (isFull(world, body.site_id)) return refused('limit_reached');
      const issued = issueSecret(body.caller, world.randomBytes);
      const key = withChange(blankKey(issued, body, world.nowMs), body);
      if (isRaised(null, key) && !world.may('account.change', 'installation')) return refused('permission_missing');
      return (
        refusedFor(keyProblems(key, world.view.table)) ??
        done([{ body: { key } }, ...expiredKeysToDrop(world.view.table, body.site_id, world.nowMs)], (view) => {
          const item = itemOf(view, key, world);
          return { body: { secret: issued.secret, key: item }, version: item.version };
        })
      );
    },
  }),
  route('GET', `${base}/{key_hash}`, 'getKey', {
    access: inKeySite('keys.read'),
    showsKeyUse: true,
    summary: 'Read a key',
    params: api.keyParams,
    success: { status: 200, schema: api.keyShape, description: 'The key' },
    errors: ['key_unknown'],
    run({ params: { key_hash } }, world) {
      const key = world.view.table.keyByHash(key_hash);
      return key === undefined ? refused('key_unknown') : written([], key, world);
    },
  }),
  route('PATCH', `${base}/{key_hash}`, 'changeKey', {
    access: inKeySite('keys.change'),
    showsKeyUse: true,
    summary: 'Change the label, the origin allow-list, the expiry or the rate limit of a key',
    params: api.keyParams,
    body: api.keyChange,
    ifMatch: 'required',
    success: { status: 200, schema: api.keyShape, description: 'The key as it is now' },
    errors: ['key_unknown'],
    run({ params: { key_hash }, body, ifMatch }, world) {
      const before = world.view.table.keyByHash(key_hash);
      if (before === undefined) return refused('key_unknown');
      const stale = checkIfMatch(world.view, apiKeyKey(key_hash), ifMatch, 'required');
      if (stale !== null) return stale;
      const key = withChange(before, body);
      if (isRaised(before, key) && !world.may('account.change', 'installation')) return refused('permission_missing');
      return refusedFor(keyProblems(key, world.view.table, before)) ?? written([key], key, world);
    },
  }),
  route('POST', `${base}/{key_hash}/revoke`, 'revokeKey', {
    protects: true,
    access: inKeySite('keys.change'),
    showsKeyUse: true,
    summary: 'Revoke a key, at once and for good; a revoked key stays as it is',
    params: api.keyParams,
    ifMatch: 'optional',
    success: { status: 200, schema: api.keyShape, description: 'The revoked key' },
    errors: ['key_unknown'],
    run({ params: { key_hash }, ifMatch }, world) {
      const before = world.view.table.keyByHash(key_hash);
      if (before === undefined) return refused('key_unknown');
      const key = { ...before, revoked_at: before.revoked_at ?? world.nowMs };
      return checkIfMatch(world.view, apiKeyKey(key_hash), ifMatch, 'optional') ?? written([key], key, world);
    },
  }),
  route('POST', `${base}/{key_hash}/rotate`, 'rotateKey', {
    access: inKeySite('keys.change'),
    showsKeyUse: true,
    summary: 'Issue a key in place of another, which goes on working for a while',
    params: api.keyParams,
    body: api.keyRotation,
    ifMatch: 'optional',
    success: { status: 201, schema: api.rotatedKeyShape, description: 'The new key, and the old one as it is now' },
    errors: ['key_unknown', 'key_not_active', 'limit_reached'],
    run({ params: { key_hash }, body, ifMatch }, world) {
      const before = world.view.table.keyByHash(key_hash);
      if (before === undefined) return refused('key_unknown');
      const stale = checkIfMatch(world.view, apiKeyKey(key_hash), ifMatch, 'optional');
      if (stale !== null) return stale;
      if (lifetimeRefusal(before, world.nowMs) !== null) return refused('key_not_active');
      if (isFull(world, before.site_id)) return refused('limit_reached');
      return rotated(before, body.overlap_ms ?? api.OVERLAP_MS, body.expires_at ?? null, world);
    },
  }),
]);

function rotated(before: ApiKey, overlapMs: number, expiresAt: number | null, world: RequestContext): Outcome {
  const { nowMs } = world;
  const issued = issueSecret(before.caller, world.randomBytes);
  const { label, allowed_origins, rate_limit } = before;
  const key: ApiKey = { ...blankKey(issued, before, nowMs), label, allowed_origins, rate_limit, expires_at: expiresAt };
  const ends = Math.min(nowMs + overlapMs, before.expires_at ?? Number.POSITIVE_INFINITY);
  const forgotten = expiredKeysToDrop(world.view.table, before.site_id, nowMs);
  const previous = overlapMs === 0 ? { ...before, revoked_at: nowMs } : { ...before, expires_at: ends };
  return (
    refusedFor(keyProblems(key, world.view.table, before)) ??
    done([{ body: { key } }, { body: { key: previous } }, ...forgotten], (view) => {
      const item = itemOf(view, key, world);
      const body = { secret: issued.secret, key: item, previous: itemOf(view, previous, world) };
      return { body, version: item.version };
    })
  );
}

function blankKey(issued: Issued, of: Pick<ApiKey, 'site_id' | 'caller'>, nowMs: number): ApiKey {
  return {
    key_hash: issued.hash,
    shown_prefix: issued.shownPrefix,
    site_id: of.site_id,
    caller: of.caller,
    label: '',
    allowed_origins: [],
    created_at: nowMs,
    expires_at: null,
    revoked_at: null,
    rate_limit: null,
    public_key: of.caller === 'browser' ? issued.secret : null,
  };
}

type KeyChange = Partial<Pick<ApiKey, 'label' | 'allowed_origins' | 'expires_at' | 'rate_limit'>>;

/** Beyond what any key may, a rate takes from the others of an edge: whoever runs the installation gives it. */
const isRaised = (before: ApiKey | null, { rate_limit }: ApiKey): boolean =>
  (rate_limit ?? 0) > Math.max(OWN_RATE_LIMIT_MAX, before?.rate_limit ?? 0);

/** Origins are brought into their canonical form; what has none is left for the check to refuse. */
function withChange(key: ApiKey, { label, allowed_origins, expires_at, rate_limit }: KeyChange): ApiKey {
  return {
    ...key,
    label: label ?? key.label,
    allowed_origins: allowed_origins?.map((origin) => canonicalAllowedOrigin(origin) ?? origin) ?? key.allowed_origins,
    expires_at: expires_at === undefined ? key.expires_at : expires_at,
    rate_limit: rate_limit === undefined ? key.rate_limit : rate_limit,
  };
}

function written(changed: ApiKey[], key: ApiKey, world: RequestContext): Outcome {
  const facts = changed.map((item) => ({ body: { key: item } }));
  return doneWith(facts, (view) => itemOf(view, key, world));
}

function isFull({ view, nowMs }: RequestContext, siteId: string): boolean {
  const active = view.table.keys().filter((key) => key.site_id === siteId && lifetimeRefusal(key, nowMs) === null);
  return active.length >= ACTIVE_KEYS_PER_SITE_MAX;
}

function itemOf(view: SettingsView, key: ApiKey, { nowMs, lastUsed }: RequestContext) {
  const refusal = lifetimeRefusal(key, nowMs);
  const state = refusal === null ? 'active' : refusal === 'key_revoked' ? 'revoked' : 'expired';
  const public_key = key.public_key ?? null;
  return {
    ...key,
    public_key,
    last_used_at: lastUsed(key.key_hash),
    state,
    ...metaOf(view, apiKeyKey(key.key_hash)),
  } as const;
}
