import { expect, test } from 'vitest';
import { openIdentityKey } from '#infra/secrets/seal.ts';
import { expectDone, installedShop } from './harness.ts';

const KEY = Buffer.alloc(32, 1);

test('identity rotate shows another secret, by which the same key opens', async () => {
  const shop = await installedShop();
  shop.identity = { secret: KEY, key: null };
  const shown = await expectDone(shop.svc('identity rotate'));
  const [, secret = '', key = ''] = /^IDENTITY_SECRET=(\S+)\nIDENTITY_KEY=(\S+)\n$/.exec(shown) ?? [];
  expect(openIdentityKey({ secret: Buffer.from(secret, 'base64'), key })).toEqual(KEY);
  expect(openIdentityKey({ secret: KEY, key })).toBeNull();
  expect(shown).not.toContain(KEY.toString('base64'));
});

test('without a secret, or with a key of another one, nothing is rotated', async () => {
  const shop = await installedShop();
  expect(await shop.svc('identity rotate')).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('IDENTITY_SECRET is not set'),
  });
  shop.identity = { secret: KEY, key: 'identity.x.y' };
  expect(await shop.svc('identity rotate')).toMatchObject({ exitCode: 2, stdout: '' });
});
