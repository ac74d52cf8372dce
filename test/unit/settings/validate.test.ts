import { describe, expect, it } from 'vitest';
import { accountProblems, destinationProblems, keyProblems } from '#pipelines/settings/validate.ts';
import type { Account, ApiKey, Destination } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { filledTable } from './filled_table.ts';
import { problemsOf } from './problems_of.ts';
import { account, apiKey, destination, NOW_MS, site } from './samples.ts';

const table = filledTable(
  { account: account() },
  { site: site() },
  { site: site({ site_id: 'travel' }) },
  { destination: destination({ site_id: 'travel', name: 'ga4', settings: { measurement_id: 'G-TAKEN' } }) },
  { site: site({ site_id: 'rival', account_id: 'rival' }) },
  { destination: destination({ site_id: 'rival', name: 'ga4', settings: { measurement_id: 'G-PUBLIC' } }) },
);
const SEALED = `k1.${'A'.repeat(16)}.${'A'.repeat(60)}`;

describe('an account', () => {
  const cases: [Partial<Account>, string[]][] = [
    [{}, []],
    [{ account_id: 'a', name: 'Ä'.repeat(100), monthly_allowance: 0 }, []],
    [{ account_id: 'a'.repeat(64), monthly_allowance: 1_000_000_000_000 }, []],
    [{ account_id: '' }, ['id_malformed account_id']],
    [{ account_id: 'Acme' }, ['id_malformed account_id']],
    [{ account_id: 'a/b' }, ['id_malformed account_id']],
    [{ account_id: '__proto__' }, ['id_malformed account_id']],
    [{ account_id: 'constructor' }, ['id_malformed account_id']],
    [{ account_id: 'prototype' }, ['id_malformed account_id']],
    [{ name: 'Shop of jane@shop.example' }, ['personal_text name']],
    [{ name: 'Shop, call +1 650 555 0142' }, ['personal_text name']],
    [{ account_id: 'a'.repeat(65) }, ['id_malformed account_id']],
    [{ name: '' }, ['name_malformed name']],
    [{ name: ' Acme' }, ['name_malformed name']],
    [{ name: 'a\nb' }, ['name_malformed name']],
    [{ name: 'a'.repeat(101) }, ['name_malformed name']],
    [{ monthly_allowance: -1 }, ['allowance_malformed monthly_allowance']],
    [{ monthly_allowance: 1.5 }, ['allowance_malformed monthly_allowance']],
    [{ monthly_allowance: Number.NaN }, ['allowance_malformed monthly_allowance']],
    [{ monthly_allowance: 1_000_000_000_001 }, ['allowance_malformed monthly_allowance']],
    [{ account_id: '', name: '' }, ['id_malformed account_id', 'name_malformed name']],
  ];
  it('is refused with what is malformed', () =>
    checkAll(cases, ([changes, problems]) => {
      expect(problemsOf(accountProblems(account(changes)))).toEqual(problems);
    }));
});

describe('a key', () => {
  const many = Array.from({ length: 101 }, (_, index) => `https://s${index}.example`);
  const cases: [Partial<ApiKey>, string[]][] = [
    [{}, []],
    [{ label: '', allowed_origins: ['https://shop.example', 'http://localhost:3000'] }, []],
    [{ caller: 'server', expires_at: NOW_MS + 1 }, []],
    [{ caller: 'server', expires_at: Number.MAX_SAFE_INTEGER }, ['expiry_malformed expires_at']],
    [{ revoked_at: NOW_MS - 1 }, []],
    [{ key_hash: 'A'.repeat(64) }, ['hash_malformed key_hash']],
    [{ site_id: 'gone' }, ['site_unknown site_id']],
    [{ caller: 'robot' as 'server' }, ['caller_unknown caller']],
    [{ label: 'a\tb' }, ['name_malformed label']],
    [{ label: 'till of jane@shop.example' }, ['personal_text label']],
    [{ allowed_origins: ['https://*.shop.example'] }, []],
    [{ allowed_origins: ['https://*.co.uk'] }, ['origin_malformed allowed_origins']],
    [{ label: 'a'.repeat(101) }, ['name_malformed label']],
    [{ allowed_origins: ['shop.example'] }, ['origin_malformed allowed_origins']],
    [{ allowed_origins: ['https://Shop.example'] }, ['origin_malformed allowed_origins']],
    [{ allowed_origins: ['https://shop.example/'] }, ['origin_malformed allowed_origins']],
    [{ allowed_origins: ['https://a.example', 'https://a.example'] }, ['repeated allowed_origins']],
    [{ allowed_origins: many }, ['too_many allowed_origins']],
    [{ caller: 'server', allowed_origins: ['https://a.example'] }, ['origins_not_for_servers allowed_origins']],
    [{ expires_at: NOW_MS }, ['expiry_malformed expires_at']],
    [{ expires_at: Number.NaN }, ['expiry_malformed expires_at']],
    [{ rate_limit: 0 }, ['rate_limit_malformed rate_limit']],
    [{ rate_limit: 1.5 }, ['rate_limit_malformed rate_limit']],
    [{ rate_limit: 1_000_001 }, ['rate_limit_malformed rate_limit']],
  ];
  it('is checked', () =>
    checkAll(cases, ([changes, problems]) => {
      expect(problemsOf(keyProblems(apiKey(changes), table))).toEqual(problems);
    }));
});

describe('a destination', () => {
  const cases: [Partial<Destination>, string[]][] = [
    [{ settings: { pixel_id: '123' }, secrets: { access_token: SEALED } }, []],
    [{ name: 'ga4', settings: { measurement_id: 'G-FREE' } }, []],
    [{ name: 'ga4', settings: { measurement_id: 'G-PUBLIC' } }, []],
    [{ name: 'ga4', site_id: 'travel', settings: { measurement_id: 'G-TAKEN' } }, []],
    [{ name: 'ga4', settings: { measurement_id: 'G-TAKEN' } }, ['measurement_id_claimed measurement_id']],
    [{ name: 'webhook', settings: { measurement_id: 'G-TAKEN' } }, []],
    [{ site_id: 'gone' }, ['site_unknown site_id']],
    [{ name: 'Meta' }, ['id_malformed name']],
    [{ settings: { 'Pixel Id': '1' } }, ['id_malformed settings']],
    [{ settings: { pixel_id: '1'.repeat(10_001) } }, ['too_large pixel_id']],
    [{ secrets: { access_token: 'EAAB in clear' } }, ['secret_not_sealed access_token']],
    [{ secrets: { access_token: '' } }, ['secret_not_sealed access_token']],
    [{ secrets: { 'a b': SEALED } }, ['id_malformed secrets']],
  ];
  it('is checked', () =>
    checkAll(cases, ([changes, problems]) => {
      expect(problemsOf(destinationProblems(destination(changes), table))).toEqual(problems);
    }));

  it('never repeats a secret in a problem', () => {
    const problems = destinationProblems(destination({ secrets: { access_token: 'EAAB in clear' } }), table);
    expect(JSON.stringify(problems)).not.toContain('EAAB');
  });
});
