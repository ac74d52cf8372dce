import { expect, it } from 'vitest';
import {
  DEAD_KEYS_MAX,
  DEAD_TOKENS_MAX,
  expiredKeysToDrop,
  expiredTokensToDrop,
  FORGOTTEN_AT_ONCE_MAX,
} from '#pipelines/settings/admin_tokens.ts';
import { adminTokenKey, apiKeyKey, createSettingsTable, type SettingsTable } from '#pipelines/settings/table.ts';
import type { AdminToken, ApiKey } from '#schemas/setting.ts';
import { NOW_MS, setting, site } from './samples.ts';

const hashOf = (prefix: string, at: number): string => prefix + String(at).padStart(63, '0');

function withSites(): SettingsTable {
  const table = createSettingsTable();
  for (const site_id of ['shop', 'other']) {
    table.apply(`site/${site_id}`, setting({ site: site({ site_id, account_id: `of-${site_id}` }) }));
  }
  return table;
}

function putKey(table: SettingsTable, at: number, some: Partial<ApiKey>): void {
  const key: ApiKey = {
    ...{ key_hash: hashOf('a', at), shown_prefix: 'svc_pk_1', site_id: 'shop', caller: 'server', label: '' },
    ...{ allowed_origins: [], created_at: 1, expires_at: null, revoked_at: null, rate_limit: null },
    ...some,
  };
  table.apply(apiKeyKey(key.key_hash), setting({ key }));
}

function putToken(table: SettingsTable, at: number, some: Partial<AdminToken>): void {
  const token: AdminToken = {
    ...{ token_hash: hashOf('b', at), shown_prefix: 'svc_st_1', label: `t${at}`, created_at: 1 },
    ...{ expires_at: null, revoked_at: null, issuer: 'user/ada' },
    grants: [{ role: 'viewer', account_id: null, site_id: 'shop' }],
    ...some,
  };
  table.apply(adminTokenKey(token.token_hash), setting({ admin_token: token }));
}

it('of a site the longest dead keys make room, and none that works', () => {
  const table = withSites();
  putKey(table, 0, {});
  putKey(table, 1, { expires_at: NOW_MS + 1 });
  putKey(table, 2, { revoked_at: NOW_MS, expires_at: 3 });
  for (let at = 3; at < DEAD_KEYS_MAX + 2; at++) putKey(table, at, { revoked_at: NOW_MS - at });
  putKey(table, 500, { site_id: 'other', revoked_at: 1 });
  expect(expiredKeysToDrop(table, 'shop', NOW_MS)).toEqual([]);
  putKey(table, 300, { expires_at: 5 });
  expect(expiredKeysToDrop(table, 'shop', NOW_MS)).toEqual([{ removedKey: apiKeyKey(hashOf('a', 2)) }]);
});

it('of an account the longest dead tokens make room, and what they issued is their issuers', () => {
  const table = withSites();
  const dead = (at: number, some: Partial<AdminToken> = {}) => putToken(table, at, { revoked_at: at, ...some });
  dead(1);
  dead(2, { issuer: adminTokenKey(hashOf('b', 1)) });
  putToken(table, 900, { issuer: adminTokenKey(hashOf('b', 2)) });
  dead(3, { issuer: null });
  dead(4, { grants: [{ role: 'viewer', account_id: 'of-other', site_id: null }] });
  for (let at = 10; at < DEAD_TOKENS_MAX + 10; at++) dead(at);
  expect(expiredTokensToDrop(table, ['of-other', null], NOW_MS)).toEqual([]);
  expect(expiredTokensToDrop(table, ['of-shop'], NOW_MS)).toEqual([
    { body: { admin_token: expect.objectContaining({ label: 't900', issuer: 'user/ada' }) } },
    { removedKey: adminTokenKey(hashOf('b', 1)) },
    { removedKey: adminTokenKey(hashOf('b', 2)) },
  ]);
});

it('of all together ten times as many are remembered', () => {
  const table = withSites();
  for (let at = 1; at <= 10 * DEAD_TOKENS_MAX + 1; at++) {
    putToken(table, at, { revoked_at: at, grants: [{ role: 'viewer', account_id: `gone-${at}`, site_id: null }] });
  }
  expect(expiredTokensToDrop(table, ['of-shop'], NOW_MS)).toEqual([{ removedKey: adminTokenKey(hashOf('b', 1)) }]);
});

it('tokens that died within a day are remembered, as what they changed counts with what their issuer changes', () => {
  const table = withSites();
  for (let at = 0; at <= DEAD_TOKENS_MAX; at++) putToken(table, at, { revoked_at: NOW_MS - 86_400_000 + at });
  expect(expiredTokensToDrop(table, ['of-shop'], NOW_MS)).toEqual([]);
  expect(expiredTokensToDrop(table, ['of-shop'], NOW_MS + 1)).toEqual([{ removedKey: adminTokenKey(hashOf('b', 0)) }]);
});

it('many too many are forgotten by and by, so that whoever issues one more does not use up their day', () => {
  const table = withSites();
  for (let at = 0; at < 2_100; at++) putKey(table, at, { revoked_at: at });
  const keys = expiredKeysToDrop(table, 'shop', NOW_MS);
  expect(keys).toHaveLength(FORGOTTEN_AT_ONCE_MAX);
  expect(keys[0]).toEqual({ removedKey: apiKeyKey(hashOf('a', 0)) });
  for (let at = 0; at < 2_100; at++) putToken(table, at, { revoked_at: at });
  expect(expiredTokensToDrop(table, ['of-shop'], NOW_MS)).toEqual(
    Array.from({ length: FORGOTTEN_AT_ONCE_MAX }, (_, at) => ({ removedKey: adminTokenKey(hashOf('b', at)) })),
  );
});

it('a token that issued many is forgotten once all of those are its issuer’s', () => {
  const table = withSites();
  for (let at = 1; at <= DEAD_TOKENS_MAX + 1; at++) putToken(table, at, { revoked_at: at });
  for (let at = 500; at < 530; at++) putToken(table, at, { issuer: adminTokenKey(hashOf('b', 1)) });
  const rounds: number[] = [];
  while (table.adminToken(hashOf('b', 1)) !== undefined) {
    const facts = expiredTokensToDrop(table, ['of-shop'], NOW_MS);
    rounds.push(facts.length);
    for (const fact of facts) {
      if ('removedKey' in fact) table.apply(fact.removedKey, null);
      else table.apply(adminTokenKey(fact.body.admin_token?.token_hash ?? ''), setting(fact.body));
    }
  }
  expect(rounds).toEqual([FORGOTTEN_AT_ONCE_MAX, 11]);
  const issued = table.adminTokens().filter(({ label }) => label >= 't500' && label < 't530');
  expect(new Set(issued.map(({ issuer }) => issuer))).toEqual(new Set(['user/ada']));
});
