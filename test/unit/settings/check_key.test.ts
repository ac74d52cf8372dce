import { describe, expect, it } from 'vitest';
import { checkKey, hashKey } from '#pipelines/settings/callers.ts';
import type { ApiKey } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { filledTable, put } from './filled_table.ts';
import { account, apiKey, NOW_MS, site } from './samples.ts';

const SECRET = `svc_pk_${'k'.repeat(32)}`;
const ORIGIN = 'https://shop.example';

function tableWith(changes: Partial<ApiKey>) {
  return filledTable(
    { account: account() },
    { site: site() },
    { key: apiKey({ key_hash: hashKey(SECRET), ...changes }) },
  );
}

const missing = { ok: false, status: 401, code: 'key_missing' };
const refused = (code: string) => ({ ok: false, status: 403, code });

describe('checking a key', () => {
  it('answers with the key, its site and its account', () => {
    const key = apiKey({ key_hash: hashKey(SECRET) });
    expect(checkKey(tableWith({}), SECRET, null, NOW_MS)).toEqual({ ok: true, key, site: site(), account: account() });
  });

  it.each([null, ''])('asks for a key when there is %j', (presented) => {
    expect(checkKey(tableWith({}), presented, 'https://elsewhere.example', NOW_MS)).toEqual(missing);
  });

  it('refuses an unknown key, whatever it looks like', () =>
    checkAll(
      [
        'nonsense',
        `svc_pk_${'x'.repeat(32)}`,
        SECRET.toUpperCase(),
        `${SECRET} `,
        hashKey(SECRET),
        '__proto__',
        'k'.repeat(1_000_000),
      ],
      (presented) => {
        expect(checkKey(tableWith({}), presented, null, NOW_MS)).toMatchObject(refused('key_invalid'));
      },
    ));

  it('refuses a key whose site or account is gone', () => {
    const key = { key: apiKey({ key_hash: hashKey(SECRET) }) };
    expect(checkKey(filledTable(key), SECRET, null, NOW_MS)).toMatchObject(refused('key_invalid'));
    expect(checkKey(filledTable(key, { site: site() }), SECRET, null, NOW_MS)).toMatchObject(refused('key_invalid'));
  });

  it('judges its state, its caller and its time', () =>
    checkAll(
      [
        ['just before it expires', { expires_at: NOW_MS + 1 }, null],
        ['when it expires', { expires_at: NOW_MS }, 'key_expired'],
        ['after it expired', { expires_at: NOW_MS - 1 }, 'key_expired'],
        ['revoked', { revoked_at: NOW_MS }, 'key_revoked'],
        ['revoked by a clock ahead of this one', { revoked_at: NOW_MS + 60_000 }, 'key_revoked'],
        ['revoked and expired', { revoked_at: NOW_MS, expires_at: NOW_MS }, 'key_revoked'],
      ],
      ([_name, changes, code]) => {
        const check = checkKey(tableWith(changes), SECRET, null, NOW_MS);
        if (code === null) expect(check.ok).toBe(true);
        else expect(check).toMatchObject(refused(code));
      },
    ));

  it('obeys a revocation with the next request', () => {
    const table = tableWith({});
    expect(checkKey(table, SECRET, null, NOW_MS).ok).toBe(true);
    put(table, { key: apiKey({ key_hash: hashKey(SECRET), revoked_at: NOW_MS }) });
    expect(checkKey(table, SECRET, null, NOW_MS)).toMatchObject(refused('key_revoked'));
  });
});

describe('checking the origin', () => {
  it('of keys by what they allow and from where they are called', () =>
    checkAll(
      [
        ['browser', [], ORIGIN, null],
        ['browser', [], null, null],
        ['browser', [ORIGIN], ORIGIN, null],
        ['browser', ['https://other.example', ORIGIN], ORIGIN, null],
        ['browser', [ORIGIN], null, null],
        ['browser', [ORIGIN], 'http://shop.example', 'origin_not_allowed'],
        ['browser', [ORIGIN], 'https://shop.example:8443', 'origin_not_allowed'],
        ['browser', [ORIGIN], 'https://www.shop.example', 'origin_not_allowed'],
        ['browser', [ORIGIN], 'https://shop.example.evil.example', 'origin_not_allowed'],
        ['browser', [ORIGIN], 'null', 'origin_not_allowed'],
        ['browser', [ORIGIN], '', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://www.shop.example', null],
        ['browser', ['https://*.shop.example'], 'https://de.m.shop.example', null],
        ['browser', ['https://*.shop.example:8443'], 'https://www.shop.example:8443', null],
        ['browser', ['https://*.shop.example'], 'https://shop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://.shop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'http://www.shop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://www.shop.example:8443', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://evilshop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://www.shop.example.evil.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://evil.example/.shop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://evil.example?.shop.example', 'origin_not_allowed'],
        ['browser', ['https://*.shop.example'], 'https://evil@x.shop.example', 'origin_not_allowed'],
        ['server', [], null, null],
        ['server', [], ORIGIN, 'key_not_for_browsers'],
        ['server', [ORIGIN], ORIGIN, 'key_not_for_browsers'],
        ['server', [], 'null', 'key_not_for_browsers'],
      ] as const,
      ([caller, allowed, origin, code]) => {
        const check = checkKey(tableWith({ caller, allowed_origins: [...allowed] }), SECRET, origin, NOW_MS);
        if (code === null) expect(check.ok).toBe(true);
        else expect(check).toMatchObject(refused(code));
      },
    ));

  it('comes after the validity of the key', () => {
    const table = tableWith({ caller: 'server', revoked_at: NOW_MS });
    expect(checkKey(table, SECRET, ORIGIN, NOW_MS)).toMatchObject(refused('key_revoked'));
  });
});
