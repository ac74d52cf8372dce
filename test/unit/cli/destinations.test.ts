import { describe, expect, it, test } from 'vitest';
import { expectDone, installedShop, SECRET, type Shop } from './harness.ts';

const CREATE = ['destination', 'create', 'crm', '--site', 'shop', '--set', 'url=https://a.example/x?a=b'];
const sealedFor = (field: string, value: string): string =>
  `k1.${'A'.repeat(16)}.${Buffer.from(`shop/crm/${field}/${value}`).toString('base64url')}`;

async function shopWithCrm(): Promise<Shop> {
  const shop = await installedShop();
  await expectDone(shop.svc([...CREATE, '--secret', `token=${SECRET}`]));
  return shop;
}

describe('destination create', () => {
  it('stores settings, and secrets sealed for their place', async () => {
    const shop = await shopWithCrm();
    expect(shop.store.table.destination('shop', 'crm')).toEqual({
      site_id: 'shop',
      name: 'crm',
      enabled: true,
      settings: { url: 'https://a.example/x?a=b' },
      secrets: { token: sealedFor('token', SECRET) },
      created_at: expect.any(Number),
    });
    expect(JSON.stringify(shop.store.writes)).not.toContain(SECRET);
  });

  it.each([
    ['from a file', ['--secret-file', 'token=token.txt']],
    ['from standard input', ['--secret-stdin', 'token']],
    ['from standard input as a file', ['--secret-file', 'token=-']],
  ])('takes a secret %s, without the final line break', async (_name, words) => {
    const shop = await installedShop();
    shop.files.set('token.txt', `${SECRET}\r\n`);
    shop.stdin = `${SECRET}\n`;
    await expectDone(shop.svc([...CREATE, ...words]));
    expect(shop.store.table.destination('shop', 'crm')?.secrets).toEqual({ token: sealedFor('token', SECRET) });
  });

  it('may begin switched off', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc([...CREATE, '--secret', 'token=t', '--disabled']));
    expect(shop.store.table.destination('shop', 'crm')?.enabled).toBe(false);
  });

  it('refuses a second of the same kind', async () => {
    const shop = await shopWithCrm();
    const result = await shop.svc([...CREATE, '--secret', 'token=t']);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: destination_exists: /) });
  });
});

describe('the rules of a destination', () => {
  const RULES = [{ events: ['page_*'], send: false, rename_to: null, drop_properties: [] }];

  it('are set from a file, shown, and removed by an empty list', async () => {
    const shop = await shopWithCrm();
    shop.files.set('rules.json', '[{"events":["page_*"],"send":false}]');
    shop.files.set('none.json', '[]');
    await expectDone(shop.svc('destination set crm --site shop --rules rules.json'));
    expect(shop.store.table.destination('shop', 'crm')?.rules).toEqual(RULES);
    const { stdout } = await shop.svc('destination rules crm --site shop --json');
    expect(JSON.parse(stdout)).toEqual(RULES);
    await expectDone(shop.svc('destination set crm --site shop --rules none.json'));
    expect(shop.store.table.destination('shop', 'crm')?.rules).toEqual([]);
  });

  it('are refused where the file holds no JSON, or no rules', async () => {
    const shop = await shopWithCrm();
    shop.files.set('text.json', 'page_*');
    shop.files.set('odd.json', '[{"event":"page_view"}]');
    const text = await shop.svc('destination set crm --site shop --rules text.json');
    expect(text).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: rules_malformed: /) });
    expect((await shop.svc('destination set crm --site shop --rules odd.json')).exitCode).toBe(2);
    expect(shop.store.table.destination('shop', 'crm')?.rules ?? []).toEqual([]);
  });
});

test('a signing secret is made, stored sealed and shown this once', async () => {
  const shop = await installedShop();
  const { exitCode, stdout } = await shop.svc([...CREATE, '--generate', 'token', '--json']);
  expect(exitCode).toBe(0);
  const { secret } = JSON.parse(stdout) as { secret: string };
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(shop.store.table.destination('shop', 'crm')?.secrets).toEqual({ token: sealedFor('token', secret) });
  const { stdout: listed } = await shop.svc('destination list --json');
  expect(listed).not.toContain(secret);
});

describe('destination set', () => {
  it('changes settings and keeps the secrets', async () => {
    const shop = await shopWithCrm();
    await expectDone(shop.svc('destination set crm --site shop --set note=hello'));
    expect(shop.store.table.destination('shop', 'crm')).toMatchObject({
      settings: { url: 'https://a.example/x?a=b', note: 'hello' },
      secrets: { token: sealedFor('token', SECRET) },
    });
  });

  it('replaces a secret', async () => {
    const shop = await shopWithCrm();
    await expectDone(shop.svc('destination set crm --site shop --secret token=new'));
    expect(shop.store.table.destination('shop', 'crm')?.secrets).toEqual({ token: sealedFor('token', 'new') });
  });

  it('removes what is not required', async () => {
    const shop = await shopWithCrm();
    await expectDone(shop.svc('destination set crm --site shop --set note=hello --secret spare=s'));
    await expectDone(shop.svc('destination set crm --site shop --unset note --unset spare'));
    const destination = shop.store.table.destination('shop', 'crm');
    expect([Object.keys(destination?.settings ?? {}), Object.keys(destination?.secrets ?? {})]).toEqual([
      ['url'],
      ['token'],
    ]);
  });

  it.each([
    ['--unset url', 'destination_setting_malformed'],
    ['--unset token', 'destination_setting_malformed'],
    ['--unset note', 'not_there'],
    ['--set url=https://a.example/x?a=b', 'nothing_to_change'],
  ])('refuses %s', async (words, code) => {
    const result = await (await shopWithCrm()).svc(`destination set crm --site shop ${words}`);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(new RegExp(`^svc: ${code}: `)) });
  });
});

describe('destination enable, disable and delete', () => {
  it('switch it, once each', async () => {
    const shop = await shopWithCrm();
    await expectDone(shop.svc('destination disable crm --site shop'));
    expect(shop.store.table.destination('shop', 'crm')?.enabled).toBe(false);
    expect((await shop.svc('destination disable crm --site shop')).stderr).toMatch(/^svc: nothing_to_change: /);
    expect(await expectDone(shop.svc('destination enable crm --site shop'))).toBe(
      'Destination crm of site shop enabled.\n',
    );
    expect(shop.store.table.destination('shop', 'crm')).toMatchObject({
      enabled: true,
      secrets: { token: sealedFor('token', SECRET) },
    });
  });

  it('remove it with a tombstone', async () => {
    const shop = await shopWithCrm();
    await expectDone(shop.svc('destination delete crm --site shop'));
    expect(shop.store.writes.at(-1)).toEqual({ key: 'destination/shop/crm', setting: null });
    expect(await expectDone(shop.svc('destination list'))).toBe('There are no destinations.\n');
  });
});

describe('what is printed', () => {
  it('names secrets and never holds their values, sealed or not', async () => {
    const shop = await installedShop();
    const printed = [
      await expectDone(shop.svc([...CREATE, '--secret', `token=${SECRET}`, '--json'])),
      await expectDone(
        shop.svc(['destination', 'set', 'crm', '--site', 'shop', '--secret', `spare=${SECRET}`, '--json']),
      ),
      await expectDone(shop.svc('destination list')),
      await expectDone(shop.svc('destination list --site shop --json')),
      await expectDone(shop.svc('destination delete crm --site shop --json')),
    ];
    for (const text of printed) expect(text).not.toMatch(/tok-en|k1\.A/);
    expect(printed[2]).toBe(
      'SITE  DESTINATION  STATE    SETTINGS                     SECRETS\n' +
        'shop  crm          enabled  url=https://a.example/x?a=b  token,spare\n',
    );
    expect(JSON.parse(printed[3] ?? '')).toMatchObject([{ secrets: ['token', 'spare'] }]);
  });
});
