import { describe, expect, it } from 'vitest';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { DESTINATIONS_OF_A_KIND_MAX } from '#pipelines/delivery/destination_id.ts';
import { type Answer, type Control, controlWithShop, NOW_MS } from './harness.ts';

const SECRET = 'tok-en very secret';
const base = 'sites/shop/destinations';
const sealedFor = (field: string, value: string): string =>
  `k1.${'A'.repeat(16)}.${Buffer.from(`shop/crm/${field}/${value}`).toString('base64url')}`;
const created = { name: 'crm', settings: { url: 'https://a.example' }, secrets: { token: SECRET } };
const ROW = {
  ...{ event_id: 'e1', event: 'page_view', received: 1, happened: 1, mode: 'online', action_source: 'website' },
  ...{ city: '', state: '', zip: '', country: '', client_ip: '', client_user_agent: '' },
  ...{ email: 1, phone: 0, first_name: 0, last_name: 0, external_id: 0 },
  ...{ value: null, currency: '', order_id: '', properties: '{}' },
};
const stored = (world: Control) => world.journal.view().table.destination('shop', 'crm');

async function withCrm(): Promise<{ world: Control; answer: Answer }> {
  const world = await controlWithShop();
  return { world, answer: await world.call('POST', base, { body: created }) };
}

describe('destinations', () => {
  it('are created with their secrets sealed, and answered without them', async () => {
    const { world, answer } = await withCrm();
    expect(answer).toMatchObject({ status: 201, body: { name: 'crm', enabled: true, secrets: ['token'] } });
    expect(stored(world)?.secrets).toEqual({ token: sealedFor('token', SECRET) });
  });

  it('are several of a kind, each with an id, settings and version of its own, up to a limit', async () => {
    const { world } = await withCrm();
    const add = (name: string): Promise<Answer> => world.call('POST', base, { body: { ...created, name } });
    expect((await add('crm')).status).toBe(409);
    expect(await add('crm-2')).toMatchObject({ status: 201, body: { name: 'crm-2', kind: 'crm' } });
    expect(world.journal.view().table.destination('shop', 'crm-2')?.secrets['token']).not.toBe(
      stored(world)?.secrets['token'],
    );
    const { etag } = await world.call('GET', `${base}/crm-2`);
    await world.call('PATCH', `${base}/crm-2`, { body: { settings: { note: 'second' } }, ifMatch: etag });
    expect(stored(world)?.settings['note']).toBeUndefined();
    expect(await add('crm-')).toMatchObject({ status: 400, body: { problems: [{ code: 'id_malformed' }] } });
    expect(await add('crmx-2')).toMatchObject({ status: 400, body: { problems: [{ code: 'destination_unknown' }] } });
    for (let at = 3; at <= DESTINATIONS_OF_A_KIND_MAX; at++) expect((await add(`crm-${at}`)).status).toBe(201);
    expect(await add('crm-more')).toMatchObject({ status: 400, body: { problems: [{ code: 'too_many' }] } });
    const { etag: first } = await world.call('GET', `${base}/crm`);
    expect((await world.call('DELETE', `${base}/crm`, { ifMatch: first })).status).toBe(200);
    expect((await world.call('GET', `${base}/crm-2`)).status).toBe(200);
  });

  it('have what waits tried again on request, with nothing else changed', async () => {
    const { world, answer } = await withCrm();
    const before = stored(world);
    const retried = await world.call('POST', `${base}/crm/retry`, { body: {} });
    expect(retried).toMatchObject({ status: 200, body: { settings: answer.body.settings, enabled: true } });
    expect(stored(world)).toEqual({ ...before, retry_at: NOW_MS });
    expect((await world.call('POST', `${base}/meta/retry`, { body: {} })).status).toBe(404);
  });

  it('have rules, which are kept in their order, with what was left out, and replaced as a whole', async () => {
    const { world, answer } = await withCrm();
    expect(answer.body.rules).toEqual([]);
    const rules = [
      { events: ['page_*'], send: false },
      { rename_to: 'lead', drop_properties: ['email'] },
    ];
    const whole = [
      { events: ['page_*'], send: false, rename_to: null, drop_properties: [] },
      { events: [], send: true, rename_to: 'lead', drop_properties: ['email'] },
    ];
    const changed = await world.call('PATCH', `${base}/crm`, { body: { rules }, ifMatch: answer.etag });
    expect(changed).toMatchObject({ status: 200, body: { rules: whole } });
    const off = await world.call('PATCH', `${base}/crm`, { body: { enabled: false }, ifMatch: changed.etag });
    expect(off.body.rules).toEqual(whole);
    const audits = world.journal.records.map(({ setting }) => setting?.audit?.after ?? '');
    expect(audits.some((after) => after.includes('drop_properties'))).toBe(true);
    const stale = await world.call('PATCH', `${base}/crm`, { body: { rules: [] }, ifMatch: changed.etag });
    expect([stale.status, stored(world)?.rules?.length]).toEqual([412, 2]);
  });

  it.each([
    [{ rules: Array(51).fill({}) }],
    [{ rules: [{ events: Array(51).fill('a') }] }],
    [{ rules: [{ events: ['a'.repeat(101)] }] }],
    [{ rules: [{ events: [''] }] }],
    [{ rules: [{ rename_to: 'two\nlines' }] }],
    [{ rules: [{ rename_to: 'ada@shop.example' }] }],
    [{ rules: [{ drop: ['email'] }] }],
  ])('refuse %j', async (body) => {
    const { world } = await withCrm();
    expect((await world.call('PATCH', `${base}/crm`, { body, ifMatch: '*' })).status).toBe(400);
    expect((await world.call('POST', `${base}/crm/rules/preview`, { body })).status).toBe(400);
  });

  it('show what rules would make of the newest events, of more than an hour where that has few, and change nothing', async () => {
    const asked: Statement[] = [];
    const world = await controlWithShop(async (statement) => {
      asked.push(statement);
      return [ROW, { ...ROW, event_id: 'e2', event: 'quiz_done', properties: '{"score":1,"answers":2}' }];
    });
    await world.call('POST', base, { body: created });
    const rules = [
      { events: ['page_*'], send: false },
      { events: ['quiz_*'], rename_to: 'lead', drop_properties: ['answers', 'email'] },
    ];
    const { body } = await world.call('POST', `${base}/crm/rules/preview`, { body: { rules } });
    expect(body.items).toEqual([
      ...[{ event_id: 'e1', event: 'page_view', received_at: 1, rule: 0, sent_as: null, skipped: 'rule', dropped: [] }],
      ...[{ event_id: 'e2', event: 'quiz_done', received_at: 1, rule: 1, sent_as: 'lead', skipped: '' }].map((one) => ({
        ...one,
        dropped: ['answers', 'email'],
      })),
    ]);
    expect(asked.length).toBe(2);
    expect(stored(world)?.rules ?? []).toEqual([]);
    const none = await world.call('POST', `${base}/crm-2/rules/preview`, { body: { rules } });
    expect(none).toMatchObject({ status: 404, body: { error: { code: 'destination_unknown' } } });
  });

  it('keep what is not named, replace what is, and remove what is null', async () => {
    const { world, answer } = await withCrm();
    const more = { settings: { note: 'n' }, secrets: { spare: 's' } };
    const second = await world.call('PATCH', `${base}/crm`, { body: more, ifMatch: answer.etag });
    expect(stored(world)).toMatchObject({
      settings: { url: 'https://a.example', note: 'n' },
      secrets: { token: sealedFor('token', SECRET), spare: sealedFor('spare', 's') },
    });
    const less = { settings: { note: null }, secrets: { spare: null, token: 'new' } };
    await world.call('PATCH', `${base}/crm`, { body: less, ifMatch: second.etag });
    expect(stored(world)).toMatchObject({ settings: { url: 'https://a.example' } });
    expect(stored(world)?.secrets).toEqual({ token: sealedFor('token', 'new') });
  });

  it('are switched off and on, and removed with a tombstone', async () => {
    const { world, answer } = await withCrm();
    const off = await world.call('PATCH', `${base}/crm`, { body: { enabled: false }, ifMatch: answer.etag });
    expect(off.body.enabled).toBe(false);
    const on = await world.call('PATCH', `${base}/crm`, { body: { enabled: true }, ifMatch: off.etag });
    expect(await world.call('DELETE', `${base}/crm`, { ifMatch: off.etag })).toMatchObject({ status: 412 });
    world.journal.records.length = 0;
    expect(await world.call('DELETE', `${base}/crm`, { ifMatch: on.etag })).toMatchObject({ status: 200 });
    expect(world.journal.records[0]).toEqual({ key: 'destination/shop/crm', setting: null });
    expect(stored(world)).toBeUndefined();
  });

  it('may name any address in a setting that is not called', async () => {
    const { world, answer } = await withCrm();
    const note = await world.call('PATCH', `${base}/crm`, {
      body: { settings: { note: 'http://127.0.0.1/shop' } },
      ifMatch: answer.etag,
    });
    expect(note).toMatchObject({ status: 200, body: { settings: { note: 'http://127.0.0.1/shop' } } });
  });

  it.each([
    [{ settings: { note: null } }, 'not_there'],
    [{ settings: { url: null } }, 'destination_setting_malformed'],
    [{ settings: { url: 'https://127.0.0.1/in' } }, 'address_refused'],
    [{ settings: { url: 'https://2130706433/in' } }, 'address_refused'],
    [{ settings: { url: 'https://169.254.169.254/latest' } }, 'address_refused'],
    [{ settings: { url: 'https://localhost/in' } }, 'address_refused'],
    [{ settings: { url: 'https://user:pass@hooks.example/in' } }, 'address_refused'],
    [{ settings: { token: SECRET } }, 'destination_setting_secret'],
    [{ secrets: { tokn: SECRET } }, 'destination_secret_unknown'],
    [{ secrets: { token: null } }, 'destination_setting_malformed'],
  ])('refuse %j', async (body, code) => {
    const { world } = await withCrm();
    const answer = await world.call('PATCH', `${base}/crm`, { body, ifMatch: '*' });
    expect(answer).toMatchObject({ status: 400, body: { problems: [{ code }] } });
  });

  it('have their secrets given again where the address changes that these are sent to', async () => {
    const { world } = await withCrm();
    const change = (body: object) => world.call('PATCH', `${base}/crm`, { body, ifMatch: '*' });
    const elsewhere = { url: 'https://elsewhere.example' };
    // Nobody learns it there.
    expect((await change({ secrets: { signing: 'signs alone' } })).status).toBe(200);
    expect(await change({ settings: elsewhere })).toMatchObject({
      status: 400,
      body: { problems: [{ code: 'field_missing', field: 'token' }] },
    });
    expect(stored(world)?.settings).toEqual({ url: 'https://a.example' });
    expect((await change({ settings: { url: 'https://a.example', note: 'n' } })).status).toBe(200);
    const moved = await change({ settings: elsewhere, secrets: { token: 'new' } });
    expect(moved).toMatchObject({ status: 200, body: { secrets: ['signing', 'token'] } });
  });

  it('say which kinds there are', async () => {
    const { world } = await withCrm();
    const [kind] = (await world.call('GET', 'destination-kinds')).body.items;
    expect(kind).toMatchObject({ name: 'crm', schema: { properties: { token: { secret: true } } } });
  });
});

describe('a secret', () => {
  it('is in no answer and no audit entry, neither clear nor sealed', async () => {
    const { world, answer } = await withCrm();
    const answers = [
      answer,
      await world.call('PATCH', `${base}/crm`, { body: { secrets: { token: `${SECRET}2` } }, ifMatch: '*' }),
      await world.call('PATCH', `${base}/crm`, {
        body: { secrets: { [SECRET.replaceAll(' ', '_')]: 'x' } },
        ifMatch: '"x"',
      }),
      await world.call('PATCH', `${base}/crm`, { body: { settings: { token: SECRET } }, ifMatch: '*' }),
      await world.call('PATCH', `${base}/crm`, { body: { secrets: { token: [SECRET] } }, ifMatch: '*' }),
      await world.call('PATCH', `${base}/crm`, { body: `{"secrets":{"token":"${SECRET}"}`, ifMatch: '*' }),
      await world.call('GET', `${base}/crm`),
      await world.call('GET', 'destinations'),
      await world.call('DELETE', `${base}/crm`, { ifMatch: '*' }),
      await world.call('GET', 'audit'),
    ];
    for (const { text } of answers) expect(text).not.toMatch(/very secret|k1\.A/);
    expect(JSON.stringify(world.journal.records)).not.toContain('very secret');
    const audit = JSON.stringify(world.journal.records.filter(({ key }) => key.startsWith('audit/')));
    expect(audit).not.toContain('k1.A');
  });
});

describe('the audit', () => {
  it('says who changed what, when, from what to what, newest first', async () => {
    const { world } = await withCrm();
    world.clock.nowMs += 1000;
    await world.call('PATCH', `${base}/crm`, {
      body: { settings: { note: 'n' }, secrets: { token: 'new' } },
      ifMatch: '*',
    });
    await world.call('DELETE', `${base}/crm`, { ifMatch: '*' });
    const { items } = (await world.call('GET', 'audit?setting_key=destination/')).body;
    expect(items).toMatchObject([
      { seq: 6, action: 'delete', after: null, before: { secrets: ['token'] }, secrets_changed: ['token'] },
      {
        seq: 5,
        action: 'change',
        changed_at: NOW_MS + 1000,
        changed_by: 'tester',
        setting_key: 'destination/shop/crm',
        before: { settings: {} },
        after: { settings: { note: 'n' } },
        secrets_changed: ['token'],
      },
      { seq: 4, action: 'create', before: null, after: { name: 'crm', secrets: ['token'] } },
    ]);
  });

  it('is read page by page and by whom', async () => {
    const { world } = await withCrm();
    const first = (await world.call('GET', 'audit?limit=2&changed_by=tester')).body;
    expect(first.items.map((item: { seq: number }) => item.seq)).toEqual([4, 3]);
    const second = (await world.call('GET', `audit?limit=2&changed_by=tester&before=${first.next}`)).body;
    expect(second).toMatchObject({ items: [{ seq: 2 }], next: null });
    expect((await world.call('GET', 'audit?changed_by=nobody')).body.items).toEqual([]);
  });
});
