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
  expect(await expectDone(shop.svc('domain list'))).toContain('No domain is claimed.');
});
