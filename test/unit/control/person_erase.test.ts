import { beforeEach, expect, test } from 'vitest';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import { type Control, controlWithShop } from './harness.ts';

const EMAIL = 'jane@example.com';

let world: Control;
beforeEach(async () => {
  world = await controlWithShop();
});

const ask = (verb: string, body: object, site = 'shop') =>
  world.call('POST', `sites/${site}/persons/${verb}`, { body });

test('an erasure is asked for by digests, stands in the audit without an identifier, and is shown until its receipt', async () => {
  const answer = await ask('erase', { email: EMAIL });
  expect(answer).toMatchObject({ status: 201, body: { phase: 'suppressing', asked_by: 'tester', done_at: null } });
  const [asked] = world.persons.asked;
  expect(asked?.subject.identifiers.map(({ value }) => value)).toEqual([sha256Hex(EMAIL)]);
  const { items } = (await world.call('GET', 'audit?setting_key=site/shop&limit=1')).body;
  const { erasure_id } = answer.body;
  expect(items[0].after).toEqual({ done: 'person.erase', erasure_id });
  const shown = await world.call('GET', `sites/shop/erasures/${erasure_id}`);
  expect(shown.body).toEqual(answer.body);
  expect((await world.call('GET', 'sites/shop/erasures')).body).toEqual({ items: [answer.body], next: null });
  expect(shown.text + JSON.stringify(items)).not.toMatch(new RegExp(`${sha256Hex(EMAIL)}|${EMAIL}`));
  expect((await world.call('GET', `sites/shop/erasures/another`)).body.error.code).toBe('erasure_unknown');
});

test('a person of many distinct ids is erased only where as many are allowed', async () => {
  world.persons.known.distinctIds = Array.from({ length: 21 }, (_, at) => `till-${at}`);
  expect((await ask('erase', { distinct_id: 'till-1' })).body.problems[0]).toMatchObject({
    code: 'too_many',
    message: expect.stringContaining('21 distinct ids'),
  });
  expect(world.persons.asked).toEqual([]);
  expect((await ask('erase', { distinct_id: 'till-1', distinct_ids_max: 21 })).status).toBe(201);
});

test.for([{}, { email: EMAIL, phone: '+49 171 1234567' }, { email: 'none' }, { phone: '1' }])(
  'nobody is meant by %o',
  async (body) => {
    for (const verb of ['find', 'export', 'erase']) {
      const answer = await ask(verb, body);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'settings_invalid']);
      expect(answer.text).not.toContain(EMAIL);
    }
  },
);

test('a site that is not there has nobody', async () => {
  expect((await ask('erase', { email: EMAIL }, 'none')).body.error.code).toBe('site_unknown');
});

test('where data is tells no data, and an export is noted as read', async () => {
  world.persons.known.links = [
    {
      ...{ key: 'k', partition: 0 },
      link: {
        ...{ site_id: 'shop', kind: 'person', person_id: basePersonId('shop', 'ann'), target: 'p', first_seen: 1 },
        version: 1,
      },
    },
  ];
  const found = await ask('find', { distinct_id: 'ann' });
  expect(found.body).toMatchObject({ distinct_ids: 1, persons: 1, identifiers: 0, links: 1 });
  expect(found.body.topics).toContainEqual({ topic: 'dead.*', days: 37 });
  expect(found.text).not.toContain(basePersonId('shop', 'ann'));
  expect(world.dataReads).toEqual([]);
  const page = await ask('export', { distinct_id: 'ann' });
  expect(page.body).toMatchObject({ events: [{ event_id: 'one' }], links: [{ kind: 'person' }], next: null });
  expect((await ask('export', { distinct_id: 'ann', after: '5:one' })).body.links).toEqual([]);
  await world.call('GET', 'audit?limit=1');
});
