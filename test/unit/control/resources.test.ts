import { describe, expect, it } from 'vitest';
import { checkKey } from '#pipelines/settings/callers.ts';
import { type Control, control, controlWithShop, LABEL, NOW_MS } from './harness.ts';

const DAY_MS = 86_400_000;
const meta = { version: expect.any(String), changed_at: NOW_MS, changed_by: LABEL };

describe('accounts', () => {
  it('are created, read, changed and listed', async () => {
    const world = await control();
    const created = await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 5 } });
    expect(created).toMatchObject({
      status: 201,
      body: { account_id: 'acme', name: 'acme', monthly_allowance: 5, ...meta },
    });
    const ifMatch = created.etag;
    const changed = await world.call('PATCH', 'accounts/acme', { body: { name: 'Acme Ltd' }, ifMatch });
    expect(changed).toMatchObject({ status: 200, body: { name: 'Acme Ltd', monthly_allowance: 5 } });
    expect((await world.call('GET', 'accounts/acme')).body).toEqual(changed.body);
    expect((await world.call('GET', 'accounts')).body).toEqual({ items: [changed.body], next: null });
  });

  it('are listed page by page', async () => {
    const world = await control();
    for (const id of ['c', 'a', 'b']) {
      await world.call('POST', 'accounts', { body: { account_id: id, monthly_allowance: 1 } });
    }
    const first = await world.call('GET', 'accounts?limit=2');
    expect(first.body.items.map((item: { account_id: string }) => item.account_id)).toEqual(['a', 'b']);
    const second = await world.call('GET', `accounts?limit=2&after=${first.body.next}`);
    expect(second.body).toMatchObject({ items: [{ account_id: 'c' }], next: null });
  });
});

describe('sites', () => {
  it('begin with defaults and change in both directions of their mode', async () => {
    const world = await controlWithShop();
    const before = await world.call('GET', 'sites/shop');
    expect(before.body).toMatchObject({
      mode: 'online',
      business_category: 'other',
      domains: [],
      event_definitions: [],
    });
    const offline = await world.call('PATCH', 'sites/shop', { body: { mode: 'offline' }, ifMatch: before.etag });
    expect(offline.body.mode).toBe('offline');
    const online = await world.call('PATCH', 'sites/shop', { body: { mode: 'online' }, ifMatch: offline.etag });
    expect(online.body.mode).toBe('online');
  });

  it('take every field, in its canonical form', async () => {
    const world = await controlWithShop();
    const definition = { id: 'buy', name: 'purchase', trigger: 'click' };
    const body = {
      name: 'Shop',
      business_category: 'travel',
      default_country: 'BE',
      identify_events: ['login'],
      domains: ['T.Shop.Example', 'bücher.example'],
      block_rules: [{ kind: 'ip', value: '10.0.0.0/8' }],
      event_definitions: [definition],
    };
    const changed = await world.call('PATCH', 'sites/shop', { body, ifMatch: '*' });
    expect(changed.body).toMatchObject({
      ...body,
      domains: ['t.shop.example', 'xn--bcher-kva.example'],
      block_rules: [{ kind: 'ip', value: '10.0.0.0/8', property: null }],
      event_definitions: [{ ...definition, selector: '', enabled: true }],
    });
    expect((await world.call('GET', 'domains')).body.items).toMatchObject([
      { domain: 't.shop.example', site_id: 'shop', state: 'pending' },
      { domain: 'xn--bcher-kva.example', site_id: 'shop', state: 'pending' },
    ]);
  });

  it('cannot claim what another site has', async () => {
    const world = await controlWithShop();
    await world.call('PATCH', 'sites/shop', { body: { domains: ['a.example'] }, ifMatch: '*' });
    const { txt } = (await world.call('GET', 'sites/shop/domains/a.example')).body.records;
    world.zone.set(`TXT ${txt.name}`, [[txt.value]]);
    await world.call('POST', 'sites/shop/domains/a.example/verify');
    const taken = await world.call('POST', 'sites', {
      body: { site_id: 'b', account_id: 'acme', domains: ['a.example'] },
    });
    expect(taken).toMatchObject({
      status: 409,
      body: { error: { code: 'claimed_elsewhere' }, problems: [{ code: 'domain_claimed' }] },
    });
  });
});

describe('event definitions', () => {
  const base = 'sites/shop/event-definitions';
  const buy = { id: 'buy', name: 'purchase', trigger: 'click' };

  it('are added, read, replaced and removed', async () => {
    const world = await controlWithShop();
    const added = await world.call('POST', base, { body: buy });
    expect(added).toMatchObject({ status: 201, body: { ...buy, enabled: true } });
    const replaced = await world.call('PUT', `${base}/buy`, { body: { ...buy, enabled: false }, ifMatch: added.etag });
    expect(replaced).toMatchObject({ status: 200, body: { enabled: false } });
    expect((await world.call('GET', `${base}/buy`)).body).toEqual(replaced.body);
    expect((await world.call('GET', base)).body.items).toHaveLength(1);
    expect(await world.call('DELETE', `${base}/buy`, { ifMatch: replaced.etag })).toMatchObject({ status: 200 });
    expect((await world.call('GET', base)).body.items).toEqual([]);
  });

  it('are refused when they are there, gone, renamed or malformed', async () => {
    const world = await controlWithShop();
    await world.call('POST', base, { body: buy });
    const cases = [
      await world.call('POST', base, { body: buy }),
      await world.call('GET', `${base}/none`),
      await world.call('PUT', `${base}/buy`, { body: { ...buy, id: 'sell' }, ifMatch: '*' }),
      await world.call('POST', base, { body: { ...buy, id: 'x', trigger: 'hover' } }),
      await world.call('POST', base, { body: { ...buy, id: 'y', name: ' a' } }),
    ];
    expect(cases.map(({ status, body }) => [status, body.error.code, body.problems?.[0]?.code])).toEqual([
      [409, 'event_definition_exists', undefined],
      [404, 'event_definition_unknown', undefined],
      [400, 'settings_invalid', 'id_malformed'],
      [400, 'settings_invalid', 'event_definition_malformed'],
      [400, 'settings_invalid', 'event_definition_malformed'],
    ]);
  });
});

describe('keys', () => {
  async function issued(world: Control, body: object = {}) {
    const answer = await world.call('POST', 'keys', { body: { site_id: 'shop', caller: 'browser', ...body } });
    expect(answer.status).toBe(201);
    return { secret: String(answer.body.secret), hash: String(answer.body.key.key_hash), etag: answer.etag };
  }
  const check = ({ journal, clock }: Control, secret: string, origin: string | null = null) => {
    const result = checkKey(journal.view().table, secret, origin, clock.nowMs);
    return result.ok ? 'ok' : result.code;
  };

  it('say when they were last used, where that is known', async () => {
    const world = await controlWithShop();
    const { hash } = await issued(world);
    expect((await world.call('GET', `keys/${hash}`)).body.last_used_at).toBeNull();
    world.used.set(hash, NOW_MS + 5);
    const { body } = await world.call('GET', 'keys');
    expect(body.items).toMatchObject([{ key_hash: hash, last_used_at: NOW_MS + 5 }]);
    expect((await world.call('GET', `keys/${hash}`)).body.last_used_at).toBe(NOW_MS + 5);
  });

  it('work once issued, from their origins only, until they expire or are revoked', async () => {
    const world = await controlWithShop();
    const origin = 'https://a.example';
    const key = await issued(world, { label: 'web', allowed_origins: [`${origin}/`], expires_at: NOW_MS + DAY_MS });
    expect(check(world, key.secret, origin)).toBe('ok');
    expect(check(world, key.secret, 'https://b.example')).toBe('origin_not_allowed');
    const opened = await world.call('PATCH', `keys/${key.hash}`, { body: { allowed_origins: [] }, ifMatch: key.etag });
    expect(opened.body).toMatchObject({ label: 'web', allowed_origins: [] });
    expect(check(world, key.secret, 'https://b.example')).toBe('ok');
    world.clock.nowMs += DAY_MS;
    expect(check(world, key.secret)).toBe('key_expired');
    expect((await world.call('POST', `keys/${key.hash}/revoke`)).body.state).toBe('revoked');
    expect(check(world, key.secret)).toBe('key_revoked');
    const again = await world.call('POST', `keys/${key.hash}/revoke`);
    expect(again.body.revoked_at).toBe(world.clock.nowMs);
  });

  it('are rotated with an overlap in which both work', async () => {
    const world = await controlWithShop();
    const old = await issued(world, { label: 'web', allowed_origins: ['https://a.example'] });
    const rotated = await world.call('POST', `keys/${old.hash}/rotate`, { body: { overlap_ms: 60_000 } });
    expect(rotated).toMatchObject({
      status: 201,
      body: {
        key: { label: 'web', allowed_origins: ['https://a.example'], expires_at: null, state: 'active' },
        previous: { key_hash: old.hash, expires_at: NOW_MS + 60_000, state: 'active' },
      },
    });
    const secret = String(rotated.body.secret);
    expect([check(world, old.secret), check(world, secret)]).toEqual(['ok', 'ok']);
    world.clock.nowMs += 60_000;
    expect([check(world, old.secret), check(world, secret)]).toEqual(['key_expired', 'ok']);
    expect((await world.call('POST', `keys/${old.hash}/rotate`, { body: {} })).body.error.code).toBe('key_not_active');
  });

  it('are rotated without overlap by revoking, and never live longer than they would have', async () => {
    const world = await controlWithShop();
    const first = await issued(world);
    await world.call('POST', `keys/${first.hash}/rotate`, { body: { overlap_ms: 0 } });
    expect(check(world, first.secret)).toBe('key_revoked');
    const second = await issued(world, { expires_at: NOW_MS + 1000 });
    const rotated = await world.call('POST', `keys/${second.hash}/rotate`, { body: {} });
    expect(rotated.body.previous.expires_at).toBe(NOW_MS + 1000);
  });

  it('are limited in number for each site', async () => {
    const world = await controlWithShop();
    for (let count = 0; count < 100; count++) await issued(world);
    const more = await world.call('POST', 'keys', { body: { site_id: 'shop', caller: 'server' } });
    expect(more).toMatchObject({ status: 409, body: { error: { code: 'limit_reached' } } });
    const list = await world.call('GET', 'keys?site_id=shop&limit=1000');
    await world.call('POST', `keys/${list.body.items[0].key_hash}/revoke`);
    await issued(world);
  });
});

describe('admin tokens', () => {
  it('are issued, name who changed what, and are revoked at once', async () => {
    const world = await controlWithShop();
    const issued = await world.call('POST', 'tokens', { body: { label: 'deploy', expires_at: NOW_MS + DAY_MS } });
    const token = String(issued.body.secret);
    expect(token).toMatch(/^svc_at_[0-9A-Za-z]{32}$/);
    const changed = await world.call('PATCH', 'accounts/acme', { body: { name: 'A' }, ifMatch: '*', token });
    expect(changed.body.changed_by).toBe('deploy');
    expect((await world.call('POST', 'tokens', { body: { label: 'deploy' } })).body.error.code).toBe('token_exists');
    await world.call('POST', `tokens/${issued.body.token.token_hash}/revoke`);
    expect(await world.call('GET', 'accounts', { token })).toMatchObject({
      status: 401,
      body: { error: { code: 'token_revoked' } },
    });
  });

  it('expire, and the last active one is not revoked', async () => {
    const world = await controlWithShop();
    const issued = await world.call('POST', 'tokens', { body: { label: 'short', expires_at: NOW_MS + DAY_MS } });
    const tokens = await world.call('GET', 'tokens');
    const own = tokens.body.items.find((item: { label: string }) => item.label === LABEL);
    world.clock.nowMs += DAY_MS;
    const late = await world.call('GET', 'accounts', { token: issued.body.secret });
    expect(late.body.error.code).toBe('token_expired');
    const last = await world.call('POST', `tokens/${own.token_hash}/revoke`);
    expect(last).toMatchObject({ status: 409, body: { error: { code: 'token_last' } } });
  });
});
