import { beforeEach, expect, test } from 'vitest';
import { JournalError } from '#pipelines/settings/journal.ts';
import { type Control, controlWithShop } from './harness.ts';

let world: Control;
beforeEach(async () => {
  world = await controlWithShop();
});

const erase = (confirm: string, token?: string) =>
  world.call('POST', 'sites/shop/erase', { body: { confirm }, ...(token === undefined ? {} : { token }) });

test('a site that is erased has no settings any more, nobody is given anything in it, and the audit keeps who asked', async () => {
  const key = await world.call('POST', 'keys', { body: { site_id: 'shop', caller: 'server', label: 'till' } });
  expect(key.status).toBe(201);
  const user = await world.addUser({ grants: [{ role: 'admin', account_id: null, site_id: 'shop' }] });
  const answer = await erase('shop');
  expect(answer).toMatchObject({ status: 201, body: { site_id: 'shop', phase: 'suppressing', asked_by: 'tester' } });
  const { table } = world.journal.view();
  expect(table.site('shop')).toBeUndefined();
  expect([table.keysOfSite('shop').size, table.destination('shop', 'meta')]).toEqual([0, undefined]);
  expect(table.user(user.user_id)?.grants).toEqual([]);
  const { items } = (await world.call('GET', 'audit?setting_key=site/shop&limit=1')).body;
  expect(items[0]).toMatchObject({
    changed_by: 'tester',
    after: { done: 'site.erase', erasure_id: answer.body.erasure_id },
  });
  expect((await world.call('GET', `site-erasures/${answer.body.erasure_id}`)).body).toEqual(answer.body);
  expect((await world.call('GET', 'site-erasures')).body).toEqual({ items: [answer.body], next: null });
  expect((await world.call('GET', `sites/shop/erasures/${answer.body.erasure_id}`)).status).toBe(404);
  expect((await erase('shop')).body.error.code).toBe('site_unknown');
});

test('a site is erased only where its id is typed once more, and by who may erase it in its account', async () => {
  expect((await erase('shopp')).body.problems[0]).toMatchObject({ code: 'not_confirmed', field: 'confirm' });
  const grants = [{ role: 'admin', site_id: 'shop' }];
  const made = await world.call('POST', 'tokens', { body: { label: 'of the site', grants } });
  const { secret } = made.body;
  expect((await erase('shop', secret)).body.error.code).toBe('permission_missing');
  expect(world.journal.view().table.site('shop')).toBeDefined();
  expect(world.persons.erasures.size).toBe(0);
});

test('the id is not used again while events of it are dropped', async () => {
  await erase('shop');
  const body = { site_id: 'shop', account_id: 'acme' };
  expect((await world.call('POST', 'sites', { body })).body.error.code).toBe('site_erased');
  for (const [id, erasure] of world.persons.erasures) {
    world.persons.erasures.set(id, { ...erasure, site: { account_id: 'acme', is_suppressed: false } });
  }
  expect((await world.call('POST', 'sites', { body })).status).toBe(201);
});

test('an erasure whose settings could not be removed goes on, and asking once more finds it', async () => {
  const { persons, journal } = world;
  const { requestSite } = persons.ports.eraseRequests;
  persons.ports.eraseRequests.requestSite = (request) => {
    journal.failure = new JournalError('away');
    return requestSite(request);
  };
  expect((await erase('shop')).body.error.code).toBe('settings_not_stored');
  expect(persons.erasures.size).toBe(1);
});
