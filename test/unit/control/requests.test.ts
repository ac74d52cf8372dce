import { describe, expect, it } from 'vitest';
import { JournalError } from '#pipelines/settings/journal.ts';
import { CONTROL_ERRORS } from '#services/control/errors.ts';
import { type CallOptions, control, controlWithShop } from './harness.ts';

const HASH = 'a'.repeat(64);
const key = { site_id: 'shop', caller: 'browser' };

/** A request, the code of its error, and the codes of its problems. */
const rejections: [string, string, CallOptions, string, string[]?][] = [
  ['GET', 'accounts', { token: null }, 'token_missing'],
  ['GET', 'accounts', { token: 'nonsense' }, 'token_invalid'],
  ['GET', 'accounts', { token: `svc_at_${'x'.repeat(32)}` }, 'token_invalid'],
  ['POST', 'accounts', { token: null, body: '{' }, 'token_missing'],
  ['GET', 'accounts/%zz', {}, 'request_malformed'],
  ['GET', 'accounts', { headers: { host: 'me@control.example' } }, 'request_malformed'],
  ['GET', 'accounts', { headers: { host: 'localhost:99999' } }, 'request_malformed'],
  ['GET', '/v1/session', { token: null, headers: { host: '[::1]:65536' } }, 'request_malformed'],
  ['GET', 'nothing', {}, 'not_found'],
  ['GET', '/nothing', { token: null }, 'not_found'],
  ['DELETE', 'accounts', { token: null }, 'method_not_allowed'],
  ['PUT', 'sites/shop', {}, 'method_not_allowed'],
  ['TRACE', 'health', { token: null }, 'method_not_allowed'],
  ['POST', 'accounts', { body: '{' }, 'body_not_json'],
  ['POST', 'accounts', { body: '[]' }, 'body_not_json'],
  ['POST', 'accounts', { headers: { 'content-type': 'application/json' } }, 'body_not_json'],
  ['POST', 'accounts', { body: '{}', headers: { 'content-type': 'text/plain' } }, 'content_type_unsupported'],
  ['POST', 'accounts', { body: ' '.repeat(1024 * 1024 + 1) }, 'body_too_large'],
  ['POST', 'accounts', { body: {} }, 'settings_invalid', ['field_missing', 'field_missing']],
  [
    'POST',
    'accounts',
    { body: { account_id: 'A', monthly_allowance: -1 } },
    'settings_invalid',
    ['id_malformed', 'allowance_malformed'],
  ],
  [
    'POST',
    'accounts',
    { body: { account_id: 'a', monthly_allowance: 1, x: 1 } },
    'settings_invalid',
    ['field_unknown'],
  ],
  [
    'POST',
    'accounts',
    { body: '{"account_id":"a","monthly_allowance":1,"__proto__":{}}' },
    'settings_invalid',
    ['field_unknown'],
  ],
  [
    'POST',
    'accounts',
    { body: { account_id: 'a', name: 'a\nb', monthly_allowance: 1 } },
    'settings_invalid',
    ['name_malformed'],
  ],
  ['POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1 } }, 'account_exists'],
  ['GET', 'accounts/none', {}, 'account_unknown'],
  ['GET', 'accounts/NONE', {}, 'settings_invalid', ['id_malformed']],
  ['GET', 'accounts?limit=0', {}, 'settings_invalid', ['field_malformed']],
  ['GET', 'accounts?limit=1001', {}, 'settings_invalid', ['field_malformed']],
  ['GET', 'accounts?limit=many', {}, 'settings_invalid', ['field_malformed']],
  ['GET', 'accounts?limit=1&limit=2', {}, 'settings_invalid', ['field_malformed']],
  ['GET', 'accounts?page=2', {}, 'settings_invalid', ['field_unknown']],
  ['GET', 'sites?account_id=none', {}, 'account_unknown'],
  ['POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } }, 'site_exists'],
  ['POST', 'sites', { body: { site_id: 'b', account_id: 'none' } }, 'settings_invalid', ['account_unknown']],
  ['PATCH', 'sites/none', { body: {}, ifMatch: '*' }, 'site_unknown'],
  ['PATCH', 'sites/shop', { body: {} }, 'if_match_missing'],
  ['PATCH', 'sites/shop', { body: {}, ifMatch: '"stale"' }, 'version_conflict'],
  ['PATCH', 'sites/shop', { body: { mode: 'x' }, ifMatch: '*' }, 'settings_invalid', ['mode_unknown']],
  ['PATCH', 'sites/shop', { body: { business_category: 'x' }, ifMatch: '*' }, 'settings_invalid', ['category_unknown']],
  ['PATCH', 'sites/shop', { body: { default_country: 'XX' }, ifMatch: '*' }, 'settings_invalid', ['country_unknown']],
  ['PATCH', 'sites/shop', { body: { default_country: 1 }, ifMatch: '*' }, 'settings_invalid', ['country_unknown']],
  ['PATCH', 'sites/shop', { body: { domains: ['localhost'] }, ifMatch: '*' }, 'settings_invalid', ['domain_malformed']],
  [
    'PATCH',
    'sites/shop',
    { body: { domains: Array(101).fill('a.example') }, ifMatch: '*' },
    'settings_invalid',
    ['too_many'],
  ],
  [
    'PATCH',
    'sites/shop',
    { body: { block_rules: [{ kind: 'ip', value: 'x' }] }, ifMatch: '*' },
    'settings_invalid',
    ['block_rule_malformed'],
  ],
  [
    'PATCH',
    'sites/shop',
    { body: { block_rules: [{ kind: 'colour', value: 'x' }] }, ifMatch: '*' },
    'settings_invalid',
    ['block_rule_malformed'],
  ],
  [
    'PATCH',
    'sites/shop',
    { body: { event_definitions: [{ id: 'a' }] }, ifMatch: '*' },
    'settings_invalid',
    ['field_missing', 'field_missing'],
  ],
  ['GET', 'keys?site_id=none', {}, 'site_unknown'],
  ['GET', `keys/${HASH}`, {}, 'key_unknown'],
  ['GET', 'keys/x', {}, 'settings_invalid', ['hash_malformed']],
  ['POST', `keys/${HASH}/revoke`, {}, 'key_unknown'],
  ['POST', `keys/${HASH}/rotate`, { body: { overlap_ms: -1 } }, 'settings_invalid', ['overlap_malformed']],
  ['POST', 'keys', { body: { ...key, site_id: 'none' } }, 'settings_invalid', ['site_unknown']],
  ['POST', 'keys', { body: { ...key, caller: 'robot' } }, 'settings_invalid', ['caller_unknown']],
  ['POST', 'keys', { body: { ...key, allowed_origins: ['shop'] } }, 'settings_invalid', ['origin_malformed']],
  [
    'POST',
    'keys',
    { body: { ...key, caller: 'server', allowed_origins: ['https://a.example'] } },
    'settings_invalid',
    ['origins_not_for_servers'],
  ],
  ['POST', 'keys', { body: { ...key, expires_at: 1 } }, 'settings_invalid', ['expiry_malformed']],
  ['POST', 'tokens', { body: { label: '' } }, 'settings_invalid', ['name_malformed']],
  ['POST', 'tokens', { body: { label: 'a', expires_at: 1 } }, 'settings_invalid', ['expiry_malformed']],
  ['POST', `tokens/${HASH}/revoke`, {}, 'token_unknown'],
  ['POST', 'sites/shop/destinations', { body: { name: 'fax' } }, 'settings_invalid', ['destination_unknown']],
  [
    'POST',
    'sites/shop/destinations',
    { body: { name: 'crm' } },
    'settings_invalid',
    ['destination_setting_malformed', 'destination_setting_malformed'],
  ],
  ['GET', 'sites/shop/destinations/crm', {}, 'destination_unknown'],
  ['DELETE', 'sites/none/destinations/crm', { ifMatch: '*' }, 'site_unknown'],
];

describe('what cannot be done', () => {
  it.each(rejections)('%s %s %j is %s', async (method, path, options, code, problems) => {
    const world = await controlWithShop();
    const answer = await world.call(method, path, options);
    expect(answer.body.error.code).toBe(code);
    expect(answer.status).toBe(CONTROL_ERRORS[code as keyof typeof CONTROL_ERRORS].status);
    expect(answer.body.problems?.map((item: { code: string }) => item.code)).toEqual(problems);
    expect(world.journal.records).toEqual([]);
    expect(world.unknown).toEqual([]);
  });

  it.each([
    ['PATCH', 'sites/shop', { mode: 'x' }, 'must be one of: online, offline'],
    ['PATCH', 'sites/shop', { business_category: 'x' }, /^must be one of: ecommerce_retail, .*, other$/],
    ['POST', 'keys', { ...key, caller: 'robot' }, 'must be one of: browser, server'],
  ])('%s %s %j says what may stand there', async (method, path, body, message) => {
    const { call } = await controlWithShop();
    const { problems } = (await call(method, path, { body, ifMatch: '*' })).body;
    expect(problems[0].message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('says which methods a route takes, and how to authenticate', async () => {
    const world = await control();
    expect((await world.call('DELETE', 'accounts')).headers['allow']).toBe('GET, POST');
    expect((await world.call('GET', 'accounts', { token: null })).headers['www-authenticate']).toBe('Bearer');
  });
});

describe('two writers of one fact', () => {
  it('do not undo each other: the second is told, and nothing is written', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('GET', 'sites/shop');
    const change = (name: string) => world.call('PATCH', 'sites/shop', { body: { name }, ifMatch: etag });
    const answers = await Promise.all([change('one'), change('two')]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
    expect((await world.call('GET', 'sites/shop')).etag).toBe(answers.find(({ status }) => status === 200)?.etag);
  });

  it('never meet a version again, though the clock stands still and the fact is as it was', async () => {
    const world = await controlWithShop();
    const first = await world.call('PATCH', 'sites/shop', { body: { name: 'a' }, ifMatch: '*' });
    await world.call('PATCH', 'sites/shop', { body: { name: 'b' }, ifMatch: '*' });
    const third = await world.call('PATCH', 'sites/shop', { body: { name: 'a' }, ifMatch: '*' });
    expect(third.etag).not.toBe(first.etag);
  });

  it('write nothing when nothing changes', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('GET', 'sites/shop');
    const same = await world.call('PATCH', 'sites/shop', { body: { mode: 'online' }, ifMatch: etag });
    expect(same).toMatchObject({ status: 200, etag });
    expect(world.journal.records).toEqual([]);
  });
});

describe('a change that cannot be stored', () => {
  it('is 503 with Retry-After, health says so, and reading goes on', async () => {
    const world = await controlWithShop();
    world.journal.failure = new JournalError('no broker');
    const answer = await world.call('PATCH', 'accounts/acme', { body: { name: 'A' }, ifMatch: '*' });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'settings_not_stored' } } });
    expect(answer.headers['retry-after']).toBe('2');
    expect(await world.call('GET', 'health', { token: null })).toMatchObject({ status: 503, body: { ok: false } });
    expect(await world.call('GET', 'accounts/acme')).toMatchObject({ status: 200, body: { name: 'acme' } });
    expect(world.unknown).toEqual([]);
  });

  it('for a reason nobody foresaw is 500, and is counted', async () => {
    const world = await controlWithShop();
    const failure = new Error('a fault of ours');
    world.journal.failure = failure;
    const answer = await world.call('PATCH', 'accounts/acme', { body: { name: 'A' }, ifMatch: '*' });
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'internal' } } });
    expect(answer.text).not.toContain('a fault of ours');
    expect(world.unknown).toEqual([failure]);
  });
});
