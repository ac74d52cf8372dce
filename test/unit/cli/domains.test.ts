import { expect, test } from 'vitest';
import { expectDone, installedShop, type Shop } from './harness.ts';

async function claimed(): Promise<{ shop: Shop; said: string; value: string; name: string }> {
  const shop = await installedShop();
  const said = await expectDone(shop.svc('domain claim t.shop.example --site shop'));
  const [, name = '', value = ''] = /TXT +(\S+) +(\S+)/.exec(said) ?? [];
  return { shop, said, name, value };
}

test('domain claim shows the records to set', async () => {
  const { said, name, value } = await claimed();
  expect(said).toContain('t.shop.example of site shop: pending.');
  expect(name).toBe('_svc-challenge.t.shop.example');
  expect(value).toMatch(/^svc-site-verification=/);
  expect(said).toMatch(/CNAME +t\.shop\.example +\S+\.edge\.example/);
});

test('domain verify fails until the record is there', async () => {
  const { shop, name, value } = await claimed();
  expect(await shop.svc('domain verify t.shop.example --site shop')).toMatchObject({ exitCode: 1 });
  shop.control.zone.set(`TXT ${name}`, [[value]]);
  expect(await expectDone(shop.svc('domain verify t.shop.example --site shop'))).toBe(
    't.shop.example of site shop: verified.\n',
  );
  expect(await expectDone(shop.svc('domain list --site shop'))).toMatch(/t\.shop\.example +shop +verified/);
});

test('domain show repeats the records, and domain release gives the domain up', async () => {
  const { shop, said } = await claimed();
  expect(await expectDone(shop.svc('domain show t.shop.example --site shop'))).toBe(said);
  await expectDone(shop.svc('domain release t.shop.example --site shop'));
  expect(await expectDone(shop.svc('domain list'))).toContain('No domains are claimed.');
});

test('domain prefix chooses a folder for the loaders, another each time, and none', async () => {
  const { shop } = await claimed();
  const prefix = async (): Promise<string | null | undefined> => {
    await expectDone(shop.svc('domain prefix shop'));
    return shop.store.table.site('shop')?.loader_prefix;
  };
  const [first, second] = [await prefix(), await prefix()];
  expect(first).toMatch(/^[a-z0-9]{12}$/);
  expect(second).toMatch(/^[a-z0-9]{12}$/);
  expect(second).not.toBe(first);
  expect(await expectDone(shop.svc('domain prefix shop --remove'))).toBe('Site shop has no prefix.\n');
  expect(shop.store.table.site('shop')?.loader_prefix).toBeNull();
});

test('a change of the site keeps its prefix', async () => {
  const { shop } = await claimed();
  await expectDone(shop.svc('domain prefix shop'));
  const before = shop.store.table.site('shop')?.loader_prefix;
  await expectDone(shop.svc('site set shop --name Other'));
  expect(shop.store.table.site('shop')?.loader_prefix).toBe(before);
  expect(await shop.svc('domain prefix nobody')).toMatchObject({ exitCode: 2 });
});
