import { describe, expect, it } from 'vitest';
import { checkKey, hashKey } from '#pipelines/settings/callers.ts';
import { expectDone, installedShop, NOW_MS, type Shop } from './harness.ts';

const DAY_MS = 86_400_000;
const CREATE = 'key create --site shop --caller browser';

async function createdSecret(shop: Shop, words: string): Promise<string> {
  const created: { secret: string } = JSON.parse(await expectDone(shop.svc(`${words} --json`)));
  return created.secret;
}

describe('key create', () => {
  it('keeps a key of a browser readable, as every page has it', async () => {
    const shop = await installedShop();
    const text = await expectDone(shop.svc(`${CREATE} --label web --origin https://Shop.example/ --expires 90d`));
    const [secret = ''] = /svc_pk_[0-9A-Za-z]{32}/.exec(text) ?? [];
    expect(text).not.toContain('shown only once');
    expect(shop.store.table.keyByHash(hashKey(secret))).toEqual({
      key_hash: hashKey(secret),
      shown_prefix: secret.slice(0, 11),
      site_id: 'shop',
      caller: 'browser',
      label: 'web',
      allowed_origins: ['https://shop.example'],
      created_at: NOW_MS,
      expires_at: NOW_MS + 90 * DAY_MS,
      revoked_at: null,
      rate_limit: null,
      public_key: secret,
    });
    for (const list of ['key list', 'key list --json']) expect(await expectDone(shop.svc(list))).toContain(secret);
    const { secret: next } = JSON.parse(await expectDone(shop.svc(`key rotate ${secret} --json`)));
    expect(await expectDone(shop.svc('key list'))).toContain(next);
  });

  it('shows a key of a server once, says so, and stores only its hash', async () => {
    const shop = await installedShop();
    const text = await expectDone(shop.svc('key create --site shop --caller server'));
    const [secret = ''] = /svc_sk_[0-9A-Za-z]{32}/.exec(text) ?? [];
    expect(text).toContain('shown only once');
    expect(shop.store.table.keyByHash(hashKey(secret))).toMatchObject({ caller: 'server', public_key: null });
    expect(JSON.stringify(shop.store.writes)).not.toContain(secret);
    for (const list of ['key list', 'key list --json']) expect(await expectDone(shop.svc(list))).not.toContain(secret);
  });

  it('makes a key that works, of the kind asked for', async () => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, 'key create --site shop --caller server');
    expect(secret).toMatch(/^svc_sk_/);
    expect(checkKey(shop.store.table, secret, null, NOW_MS).ok).toBe(true);
  });

  it('sets a rate limit of the key’s own, and takes it away again', async () => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, `${CREATE} --rate-limit 5000`);
    const limit = () => shop.store.table.keyByHash(hashKey(secret))?.rate_limit;
    expect(limit()).toBe(5_000);
    expect(await expectDone(shop.svc('key list'))).toMatch(/ 5000 +all\n$/);
    await expectDone(shop.svc(`key set ${secret} --rate-limit default`));
    expect(limit()).toBeNull();
    expect(await shop.svc(`key set ${secret} --rate-limit 0`)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('rate_limit_malformed'),
    });
  });

  it.each([
    ['12h', NOW_MS + DAY_MS / 2],
    ['30m', NOW_MS + 1_800_000],
    ['2027-01-31', Date.UTC(2027, 0, 31)],
    ['2027-01-31T10:00+01:00', Date.UTC(2027, 0, 31, 9)],
    ['2027-01-31T10:00:00.5Z', Date.UTC(2027, 0, 31, 10, 0, 0, 500)],
    ['never', null],
  ])('reads the expiry %s', async (when, expiresAt) => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, `${CREATE} --expires ${when}`);
    expect(shop.store.table.keyByHash(hashKey(secret))?.expires_at).toBe(expiresAt);
  });
});

describe('key revoke', () => {
  it.each([
    ['prefix', (secret: string) => secret.slice(0, 11)],
    ['hash', hashKey],
    ['whole key', (secret: string) => secret],
  ])('finds the key by its %s', async (_name, nameOf) => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, CREATE);
    const text = await expectDone(shop.svc(`key revoke ${nameOf(secret)}`));
    expect(text).toBe(`Key ${secret.slice(0, 11)} of site shop revoked.\n`);
    expect(checkKey(shop.store.table, secret, null, NOW_MS)).toMatchObject({ code: 'key_revoked' });
    const again = await shop.svc(`key revoke ${nameOf(secret)}`);
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: key_revoked: /) });
  });

  it('asks which, when two keys begin alike', async () => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, CREATE);
    const key = shop.store.table.keyByHash(hashKey(secret));
    const [write] = shop.store.writes;
    if (key === undefined || !write?.setting) return expect.unreachable();
    const twin = { ...key, key_hash: 'b'.repeat(64) };
    shop.control.journal.view().apply(`key/${twin.key_hash}`, { ...write.setting, key: twin });
    const result = await shop.svc(`key revoke ${key.shown_prefix}`);
    expect(result.stderr).toMatch(/^svc: key_ambiguous: 2 keys/);
    await expectDone(shop.svc(`key revoke ${twin.key_hash}`));
    expect(shop.store.table.keyByHash(key.key_hash)?.revoked_at).toBeNull();
  });
});

describe('key set', () => {
  it('changes label, origins and expiry', async () => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, `${CREATE} --origin https://a.example --expires 1d`);
    const change = '--label new --origin https://b.example --remove-origin https://a.example --expires never';
    await expectDone(shop.svc(`key set ${secret.slice(0, 11)} ${change}`));
    expect(shop.store.table.keyByHash(hashKey(secret))).toMatchObject({
      label: 'new',
      allowed_origins: ['https://b.example'],
      expires_at: null,
    });
  });

  it('refuses to change nothing', async () => {
    const shop = await installedShop();
    const secret = await createdSecret(shop, CREATE);
    const result = await shop.svc(`key set ${secret.slice(0, 11)}`);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: nothing_to_change: /) });
  });
});

describe('key rotate', () => {
  it('shows a new key, and both work for the overlap', async () => {
    const shop = await installedShop();
    const old = await createdSecret(shop, `${CREATE} --label web`);
    const text = await expectDone(shop.svc(`key rotate ${old.slice(0, 11)} --overlap 12h`));
    const [secret = ''] = /svc_pk_[0-9A-Za-z]{32}/.exec(text) ?? [];
    expect(text).toContain('works until 2026-11-22T00:00:00Z');
    const codes = () =>
      [old, secret].map((key) => {
        const check = checkKey(shop.store.table, key, null, shop.nowMs);
        return check.ok ? check.key.label : check.code;
      });
    expect(codes()).toEqual(['web', 'web']);
    shop.nowMs += DAY_MS / 2;
    expect(codes()).toEqual(['key_expired', 'web']);
  });
});

describe('key list', () => {
  it('shows the state of each key in aligned columns', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc(`${CREATE} --origin https://a.example --origin https://b.example --label web`));
    const revoked = await createdSecret(shop, 'key create --site shop --caller server');
    await expectDone(shop.svc(`key revoke ${revoked}`));
    await expectDone(shop.svc(`${CREATE} --expires 1d`));
    shop.nowMs += DAY_MS;
    const [heading = '', ...rows] = (await expectDone(shop.svc('key list'))).trimEnd().split('\n');
    expect(heading).toMatch(/^KEY +SITE +CALLER +LABEL +STATE +CREATED +EXPIRES +LAST USED +RATE LIMIT +ORIGINS$/);
    const stateColumn = heading.indexOf('STATE');
    const states = rows.map((row) => row.slice(stateColumn).split(' ')[0]);
    expect(new Set(states)).toEqual(new Set(['active', 'expired', 'revoked']));
    expect(rows.some((row) => row.endsWith('https://a.example,https://b.example'))).toBe(true);
    expect(rows.some((row) => /2026-11-21T12:00:00Z +2026-11-22T12:00:00Z +- +default +all$/.test(row))).toBe(true);
  });

  it('shows only the keys of a site', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('site create other --account acme'));
    await expectDone(shop.svc(CREATE));
    expect(JSON.parse(await expectDone(shop.svc('key list --site other --json')))).toEqual([]);
    expect(JSON.parse(await expectDone(shop.svc('key list --site shop --json')))).toMatchObject([{ state: 'active' }]);
  });
});
