import { beforeEach, describe, expect, it } from 'vitest';
import type { Grant } from '#schemas/setting.ts';
import { NOW_MS } from './harness.ts';
import { shownDeadLetter } from './memory_letters.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const SHOP = { site_id: 'shop' };
const ACME = { account_id: 'acme' };
const days = { from: NOW_MS - 86_400_000, to: NOW_MS };

let world: ScopedWorld;
beforeEach(async () => {
  world = await scopedWorld();
});

/** Asks with a token of one grant. */
async function ask(grant: Grant, method: string, path: string, body?: object) {
  const token = await world.tokenOf(grant);
  return world.call(method, path, { token, ifMatch: '*', ...(body === undefined ? {} : { body }) });
}

async function codeOf(grant: Grant, method: string, path: string, body?: object): Promise<string> {
  const answer = await ask(grant, method, path, body);
  return answer.body?.error?.code ?? String(answer.status);
}

describe('a list', () => {
  const lists: [path: string, item: (item: Record<string, never>) => unknown, ofShop: unknown[], ofAcme: unknown[]][] =
    [
      ['accounts', ({ account_id }) => account_id, [], ['acme']],
      ['sites', ({ site_id }) => site_id, ['shop'], ['shop', 'till']],
      ['domains', ({ domain }) => domain, ['shop.example'], ['shop.example', 'till.example']],
      ['keys', ({ site_id }) => site_id, ['shop'], ['shop']],
      ['destinations', ({ site_id }) => site_id, ['shop'], ['shop']],
      ['replays', ({ site_id }) => site_id, ['shop'], ['shop']],
      ['dead-letters', ({ id }) => id, ['dedup-0-0'], ['dedup-0-0']],
    ];

  it.each(lists)('of %s is cut to what may be seen', async (path, item, ofShop, ofAcme) => {
    const seen = async (grant: Grant) => (await ask(grant, 'GET', path)).body.items.map(item);
    expect(await seen(grantOf('admin', SHOP))).toEqual(ofShop);
    expect(await seen(grantOf('admin', ACME))).toEqual(ofAcme);
    expect((await seen(grantOf('admin'))).length).toBeGreaterThan(ofAcme.length);
  });

  it.each(['keys', 'destinations', 'domains', 'delivery-health'])(
    'of %s is refused for a site of others, whether there is one or not',
    async (path) => {
      for (const site_id of ['other', 'none']) {
        expect(await codeOf(grantOf('admin', ACME), 'GET', `${path}?site_id=${site_id}`)).toBe('permission_missing');
      }
    },
  );

  it('of sites does not say which accounts there are', async () => {
    for (const account_id of ['rival', 'none']) {
      const answer = await ask(grantOf('admin', ACME), 'GET', `sites?account_id=${account_id}`);
      expect(answer.body).toEqual({ items: [], next: null });
    }
  });

  it('of changes has those of the site or the account, its keys and its replays', async () => {
    const seen = async (grant: Grant) =>
      (await ask(grant, 'GET', 'audit?limit=1000')).body.items.map(
        ({ setting_key }: { setting_key: string }) => setting_key,
      );
    const { keys, replayIds } = world;
    const ofShop = [
      'destination/shop/crm',
      `key/${keys.shop}`,
      `replay/${replayIds.shop}`,
      'saved/shop/question/countries',
    ];
    const facts = async (grant: Grant) => (await seen(grant)).filter((key: string) => !key.startsWith('admin_token/'));
    expect((await facts(grantOf('admin', SHOP))).sort()).toEqual([...ofShop, 'site/shop'].sort());
    expect((await facts(grantOf('admin', ACME))).sort()).toEqual(
      [...ofShop, 'account/acme', 'site/shop', 'site/till'].sort(),
    );
    expect(await seen(grantOf('admin'))).toContain(`admin_token/${world.tokens.other}`);
  });

  it('of changes has users and tokens whose grants, then and now, are all of the place', async () => {
    const change = (user_id: string, grants: Grant[]) => world.addUser({ user_id, grants });
    const about = async (grant: Grant, key: string) =>
      (await ask(grant, 'GET', `audit?limit=1000&setting_key=${key}`)).body.items.length;
    await change('ada', [grantOf('viewer', SHOP)]);
    await change('bob', [grantOf('viewer', SHOP), grantOf('viewer', { account_id: 'rival' })]);
    await change('eve', [grantOf('viewer', { account_id: 'rival' })]);
    await change('eve', [grantOf('viewer', SHOP)]);
    const admin = grantOf('admin', ACME);
    expect(await Promise.all(['ada', 'bob', 'eve'].map((id) => about(admin, `user/${id}`)))).toEqual([1, 0, 0]);
    expect(await about(grantOf('admin'), 'user/eve')).toBe(2);
    expect(await about(admin, `admin_token/${world.tokens.other}`)).toBe(0);
    await world.tokenOf(grantOf('viewer', SHOP));
    expect(await about(admin, 'admin_token/')).toBeGreaterThan(0);
  });
});

describe('what names another site', () => {
  const other: [what: string, method: string, path: string, body?: object][] = [
    ['an issued key', 'POST', 'keys', { site_id: 'other', caller: 'browser' }],
    ['an issued key of nothing', 'POST', 'keys', { site_id: 'none', caller: 'browser' }],
    ['a replay', 'POST', 'replays', { destination: 'crm', site_id: 'other', ...days }],
    ['a replay of all sites', 'POST', 'replays', { destination: 'crm', ...days }],
    ['a site for another account', 'POST', 'sites', { site_id: 'mine', account_id: 'rival' }],
    ['a token', 'POST', 'tokens', { label: 'x', grants: [{ role: 'viewer', site_id: 'other' }] }],
    ['an unknown site', 'GET', 'sites/none'],
    ['an unknown account', 'GET', 'accounts/none'],
    ['an unknown key', 'GET', `keys/${'a'.repeat(64)}`],
    ['an unknown replay', 'GET', 'replays/none'],
    ['an unknown token', 'GET', `tokens/${'a'.repeat(64)}`],
  ];

  it.each(other)('as %s does is refused', async (_what, method, path, body) => {
    expect(await codeOf(grantOf('owner', ACME), method, path, body)).toBe('permission_missing');
  });

  it('as the account that a site moves to does is refused to who has no say in both', async () => {
    const move = (grant: Grant, account_id: string) => codeOf(grant, 'PATCH', 'sites/shop', { account_id });
    expect(await move(grantOf('admin', SHOP), 'rival')).toBe('permission_missing');
    expect(await move(grantOf('admin', SHOP), 'none')).toBe('permission_missing');
    expect(await move(grantOf('owner', ACME), 'rival')).toBe('permission_missing');
    expect(await move(grantOf('admin', SHOP), 'acme')).toBe('200');
    expect(await move(grantOf('admin'), 'rival')).toBe('200');
  });

  it('of one person is refused to operators also where they ask for events', async () => {
    const filters = [{ field: { column: 'email_sha256' }, is: 'equal', to: ['a'.repeat(64)] }];
    const path = '/v1/query/shop/live';
    expect(await codeOf(grantOf('operator', SHOP), 'POST', path, { filters })).toBe('permission_missing');
    expect(await codeOf(grantOf('operator', SHOP), 'POST', path, {})).not.toBe('permission_missing');
    expect(await codeOf(grantOf('analyst', SHOP), 'POST', path, { filters })).not.toBe('permission_missing');
  });

  it('by the hash or id of what is there is refused too', async () => {
    const owner = grantOf('owner', ACME);
    for (const path of [
      `keys/${world.keys.other}`,
      `replays/${world.replayIds.other}`,
      `tokens/${world.tokens.other}`,
    ]) {
      expect(await codeOf(owner, 'GET', path)).toBe('permission_missing');
    }
    expect(await codeOf(owner, 'GET', `replays/${world.replayIds.all}`)).toBe('permission_missing');
    expect(await codeOf(owner, 'POST', `keys/${world.keys.other}/rotate`, {})).toBe('permission_missing');
    expect(await codeOf(owner, 'PATCH', `replays/${world.replayIds.other}`, { wanted: 'cancelled' })).toBe(
      'permission_missing',
    );
  });
});

describe('dead letters', () => {
  it('of other sites, of several and those that cannot be read are as unknown', async () => {
    const grant = grantOf('operator', SHOP);
    const codes = await Promise.all([0, 1, 2, 3].map((at) => codeOf(grant, 'GET', `dead-letters/dedup-0-${at}`)));
    expect(codes).toEqual(['200', 'dead_letter_unknown', 'dead_letter_unknown', 'dead_letter_unknown']);
  });

  it('are sent in again where all of their sites are one’s own', async () => {
    const ids = [0, 1, 2, 3].map((at) => `dedup-0-${at}`);
    const answer = await ask(grantOf('operator', SHOP), 'POST', 'dead-letters/resend', { ids });
    const outcomes = answer.body.items.map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes).toEqual(['resent', 'unknown', 'unknown', 'unknown']);
    expect(world.deadLetters.deadLetters.filter(({ resentAtMs }) => resentAtMs !== null).map(({ id }) => id)).toEqual([
      ids[0],
    ]);
  });

  it('are resolved and opened again where all of their sites are one’s own', async () => {
    const ids = [0, 1, 2, 3].map((at) => `dedup-0-${at}`);
    const outcomes = async (what: string, body: object) => {
      const answer = await ask(grantOf('operator', SHOP), 'POST', `dead-letters/${what}`, { ids, ...body });
      return answer.body.items.map(({ outcome }: { outcome: string }) => outcome);
    };
    expect(await outcomes('resolve', { note: 'a bad import' })).toEqual(['resolved', 'unknown', 'unknown', 'unknown']);
    expect(world.deadLetters.deadLetters.filter(({ resolution }) => resolution !== null).map(({ id }) => id)).toEqual([
      ids[0],
    ]);
    expect(await outcomes('reopen', {})).toEqual(['reopened', 'unknown', 'unknown', 'unknown']);
    const { items } = (await ask(grantOf('owner'), 'GET', 'audit?setting_key=dead_letters&limit=2')).body;
    expect(items.map(({ after }: { after: object }) => after)).toEqual([
      { reopen: [ids[0]] },
      { resolve: [ids[0]], note: 'a bad import' },
    ]);
  });
});

describe('dead letters of deliveries', () => {
  const ids = [10, 11, 12, 13].map((offset) => `delivery-0-${offset}`);
  beforeEach(() => {
    const died = (offset: number, siteIds: readonly string[] | null) => {
      const deadLetter = shownDeadLetter(offset, { stage: 'delivery', destination: 'crm' }, siteIds !== null);
      const views = (deadLetter.views ?? []).flatMap((view) => (siteIds ?? []).map((siteId) => ({ ...view, siteId })));
      return { ...deadLetter, views: siteIds === null ? null : views };
    };
    world.deadLetters.deadLetters = [
      died(10, ['shop']),
      died(11, ['other']),
      died(12, ['shop', 'other']),
      died(13, null),
    ];
  });

  it.each([
    ['operator', SHOP, ids.slice(0, 1)],
    ['operator', ACME, ids.slice(0, 1)],
    ['operator', {}, ids],
  ])('are seen and sent again by an %s of %j where all of their sites are in that place', async (role, place, own) => {
    const grant = grantOf(role, place);
    const listed = (await ask(grant, 'GET', 'dead-letters?state=open')).body.items;
    expect(listed.map(({ id }: { id: string }) => id)).toEqual(own);
    const codes = await Promise.all(ids.map((id) => codeOf(grant, 'GET', `dead-letters/${id}`)));
    expect(codes).toEqual(ids.map((id) => (own.includes(id) ? '200' : 'dead_letter_unknown')));
    await ask(grant, 'POST', 'dead-letters/resend', { ids });
    const sent = world.deadLetters.deadLetters.filter(({ resentAtMs }) => resentAtMs !== null).map(({ id }) => id);
    expect(sent).toEqual(own.filter((id) => id !== 'delivery-0-13'));
  });

  it.each(['analyst', 'viewer'])('are not for a site’s %s', async (role) => {
    const grant = grantOf(role, SHOP);
    expect(await codeOf(grant, 'GET', 'dead-letters/delivery-0-10')).toBe('permission_missing');
    expect(await codeOf(grant, 'POST', 'dead-letters/resend', { ids })).toBe('permission_missing');
  });

  it('of a site of others are not asked for by its name', async () => {
    for (const site of ['other', 'none']) {
      const path = `dead-letters?site_id=${site}`;
      expect(await codeOf(grantOf('operator', SHOP), 'GET', path)).toBe('permission_missing');
    }
  });
});

describe('delivery health', () => {
  const row = {
    ...{
      destination: 'crm',
      attempts: 1,
      delivered: 1,
      diverted: 0,
      paused: 0,
      waiting: 0,
      dead: 0,
      failed: 0,
      skipped: {},
    },
    ...{ latest: 'delivered', latest_reason: '', delivered_at: 1, failed_at: 0, failed_reason: '' },
    ...{ took_ms: [1, 1], age_ms: [1, 1] },
  };

  it('is of one’s own sites, whoever asked before', async () => {
    world = await scopedWorld(['shop', 'other'].map((site_id) => ({ ...row, site_id })));
    const seen = async (grant: Grant) =>
      (await ask(grant, 'GET', 'delivery-health')).body.items.map(({ site_id }: { site_id: string }) => site_id);
    expect(await seen(grantOf('admin'))).toEqual(['shop', 'other']);
    expect(await seen(grantOf('operator', SHOP))).toEqual(['shop']);
    expect(await seen(grantOf('operator', { site_id: 'other' }))).toEqual(['other']);
    expect(await seen(grantOf('operator', { site_id: 'till' }))).toEqual([]);
    expect(await seen(grantOf('admin'))).toEqual(['shop', 'other']);
  });
});

describe('queries that run', () => {
  it('are seen and ended by whom they are of', async () => {
    const figures = { kind: 'top', askedBy: 'ann', runningMs: 1, rowsRead: 1, memoryBytes: 1 };
    const idOf = (at: number) => `5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a0${at}`;
    for (const [at, siteId] of ['shop', 'other', '*'].entries()) {
      world.running.push({ id: idOf(at), siteId, ...figures });
    }
    const operator = grantOf('operator', SHOP);
    expect((await ask(operator, 'GET', 'queries')).body.items.map(({ id }: { id: string }) => id)).toEqual([idOf(0)]);
    expect(await codeOf(operator, 'GET', 'queries?site_id=other')).toBe('permission_missing');
    const codes = [];
    for (const at of [1, 2, 0]) codes.push(await codeOf(operator, 'DELETE', `queries/${idOf(at)}`));
    expect(codes).toEqual(['query_unknown', 'query_unknown', '200']);
    expect(world.running.map(({ siteId }) => siteId)).toEqual(['other', '*']);
  });
});

describe('changing a site', () => {
  it.each([
    [{ block_rules: [] }, '200'],
    [{ block_rules: [], mode: 'offline' }, 'permission_missing'],
    [{ mode: 'offline' }, 'permission_missing'],
    [{}, 'permission_missing'],
  ])('as an operator to %j is %s', async (body, code) => {
    expect(await codeOf(grantOf('operator', SHOP), 'PATCH', 'sites/shop', body)).toBe(code);
  });

  it('leaves the allowance to the installation', async () => {
    const owner = grantOf('owner', ACME);
    expect(await codeOf(owner, 'PATCH', 'accounts/acme', { monthly_allowance: 9 })).toBe('permission_missing');
    expect(await codeOf(owner, 'PATCH', 'accounts/acme', { name: 'Acme' })).toBe('200');
    expect(await codeOf(grantOf('admin'), 'PATCH', 'accounts/acme', { monthly_allowance: 9 })).toBe('200');
  });
});

describe('figures', () => {
  const person = { column: 'distinct_id' };
  const questions: [what: string, name: string, question: object][] = [
    ['the commonest distinct ids', 'top', { ...days, field: person }],
    [
      'what one person did',
      'top',
      { ...days, field: { column: 'event' }, filters: [{ field: person, is: 'equal', to: ['a'] }] },
    ],
    [
      'what one address did',
      'top',
      {
        ...days,
        field: { column: 'event' },
        filters: [{ any: [{ all: [{ field: { column: 'client_ip' }, is: 'set' }] }] }],
      },
    ],
    ['the commonest order ids, as a property', 'top', { ...days, field: { property: ['order_id'] } }],
    [
      'where one click led',
      'top',
      {
        ...days,
        field: { column: 'event' },
        filters: [{ field: { property: ['user_data', '_fbc'] }, is: 'equal', to: ['a'] }],
      },
    ],
    [
      'what a known e-mail did',
      'top',
      {
        ...days,
        field: { column: 'event' },
        filters: [{ field: { person: { column: 'email_sha256' }, seen: 'last' }, is: 'equal', to: ['a'] }],
      },
    ],
  ];

  it.each(questions)('that tell %s are for those who see persons', async (_what, name, question) => {
    for (const role of ['viewer', 'operator']) {
      expect(await codeOf(grantOf(role, SHOP), 'POST', `/v1/query/shop/${name}`, question)).toBe('permission_missing');
    }
    expect(await codeOf(grantOf('analyst', SHOP), 'POST', `/v1/query/shop/${name}`, question)).toBe('200');
  });

  it('of a saved question take what asking it does', async () => {
    const saved: [string, object, string][] = [
      ['top', { ...days, field: { column: 'country' } }, '200'],
      ['top', { ...days, field: person }, 'permission_missing'],
      ['top', { ...days, field: { property: ['order_id'] } }, 'permission_missing'],
      ['timeline', { ...days, distinct_id: 'a' }, 'permission_missing'],
      ['live', {}, 'permission_missing'],
      ['sql', { sql: 'SELECT 1' }, 'permission_missing'],
    ];
    for (const [at, [query, question, code]] of saved.entries()) {
      const body = { id: `q${at}`, name: 'Q', query, question };
      expect((await ask(grantOf('analyst', SHOP), 'POST', 'sites/shop/questions', body)).status).toBe(201);
      expect(await codeOf(grantOf('viewer', SHOP), 'GET', `/v1/query/shop/questions/q${at}`)).toBe(code);
    }
  });
});

describe('a token', () => {
  const issue = (own: Grant, grants: object[] | undefined) =>
    codeOf(own, 'POST', 'tokens', { label: 'new', ...(grants === undefined ? {} : { grants }) });

  it.each([
    ['owner', {}, undefined, '201'],
    ['owner', {}, [{ role: 'owner' }], '201'],
    ['admin', {}, undefined, 'permission_missing'],
    ['admin', {}, [{ role: 'viewer' }], 'permission_missing'],
    ['admin', {}, [{ role: 'owner', account_id: 'acme' }], 'permission_missing'],
    ['admin', {}, [{ role: 'admin', account_id: 'acme' }], '201'],
    ['owner', ACME, undefined, 'permission_missing'],
    ['owner', ACME, [{ role: 'owner', account_id: 'acme' }], '201'],
    [
      'owner',
      ACME,
      [
        { role: 'viewer', site_id: 'shop' },
        { role: 'viewer', site_id: 'other' },
      ],
      'permission_missing',
    ],
    ['owner', ACME, [{ role: 'viewer', account_id: 'acme', site_id: 'shop' }], 'settings_invalid'],
    ['owner', {}, [{ role: 'viewer', site_id: 'none' }], 'settings_invalid'],
    ['owner', {}, [{ role: 'root' }], 'settings_invalid'],
    ['owner', {}, [], 'settings_invalid'],
    ['analyst', {}, [{ role: 'viewer', site_id: 'shop' }], 'permission_missing'],
  ])('of an %s of %j with %j is %s', async (role, place, grants, code) => {
    expect(await issue(grantOf(role, place), grants)).toBe(code);
  });

  it('may what its grants say, and is of a kind that a service without grants does not know', async () => {
    const body = { label: 'reports', grants: [{ role: 'viewer', site_id: 'shop' }] };
    const { secret, token } = (await world.call('POST', 'tokens', { body })).body;
    expect(secret).toMatch(/^svc_st_[0-9A-Za-z]{32}$/);
    expect(token.grants).toEqual([{ role: 'viewer', account_id: null, site_id: 'shop' }]);
    expect((await world.call('GET', 'sites/shop', { token: secret })).status).toBe(200);
    expect((await world.call('GET', 'keys', { token: secret })).status).toBe(403);
    const who = await world.call('GET', '/v1/session', { token: secret });
    expect(who.body).toMatchObject({ kind: 'token', name: 'reports', session: null });
  });

  it('is not revoked by who could not give it, and the last that may everything stays', async () => {
    const owner = grantOf('owner', ACME);
    const { token } = (await ask(owner, 'POST', 'tokens', { label: 'o', grants: [owner] })).body;
    expect(await codeOf(grantOf('admin'), 'POST', `tokens/${token.token_hash}/revoke`)).toBe('permission_missing');
    expect(await codeOf(owner, 'POST', `tokens/${token.token_hash}/revoke`)).toBe('200');
    const [all] = (await world.call('GET', 'tokens?limit=1000')).body.items.filter(
      ({ grants }: { grants: unknown }) => grants === null,
    );
    const code = (await world.call('POST', `tokens/${all.token_hash}/revoke`)).body.error.code;
    expect(code).toBe('token_last');
  });

  it('has no label that would name a user in the audit', async () => {
    for (const label of ['user:ada', 'sign-in']) {
      const answer = await world.call('POST', 'tokens', { body: { label } });
      expect(answer.body.problems[0].code).toBe('name_malformed');
    }
  });
});

describe('a refusal', () => {
  it('stands in the audit once an hour, under who was refused and where', async () => {
    const token = await world.tokenOf(grantOf('viewer', SHOP));
    world.journal.records.length = 0;
    for (let times = 0; times < 5; times += 1) await world.call('GET', 'keys?site_id=shop', { token });
    await world.call('GET', 'keys?site_id=other', { token });
    world.clock.nowMs += 3_600_000;
    await world.call('GET', 'keys?site_id=shop', { token });
    const entries = world.journal.records.map(({ setting }) => ({
      about: setting?.audit?.setting_key,
      ...JSON.parse(setting?.audit?.after ?? '{}'),
    }));
    const refusal = { done: 'permission.refused', operation: 'listKeys' };
    expect(entries).toEqual([
      { about: 'site/shop', ...refusal },
      { about: 'site/other', ...refusal, unrecorded: 4 },
      { about: 'site/shop', ...refusal },
    ]);
  });

  it('fills no more than a small part of the audit', async () => {
    const token = await world.tokenOf(grantOf('viewer', SHOP));
    world.journal.records.length = 0;
    for (let at = 0; at < 100; at += 1) await world.call('GET', `keys?site_id=s${at}`, { token });
    expect(world.journal.records).toHaveLength(30);
  });
});
