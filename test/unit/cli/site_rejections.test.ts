import { expect, test } from 'vitest';
import { expectDone, installedShop, NOW_MS } from './harness.ts';

const HOUR_MS = 3_600_000;
const MALFORMED = { kind: 'rejected', code: 'timestamp_invalid' } as const;

test('what was not accepted of a site, with samples where they are asked for', async () => {
  const shop = await installedShop();
  shop.control.rejections.set('shop', {
    sinceMs: NOW_MS - HOUR_MS,
    hours: [{ hour: NOW_MS / HOUR_MS - 1, ...MALFORMED, count: 4 }],
    samples: [
      {
        ...{ atMs: NOW_MS - 1_000, ...MALFORMED, keyId: '9f86d081884c7d65', caller: 'server', index: 3 },
        ...{ event: 'buy', fields: ['event', 'timestamp'] },
      },
      {
        ...{ atMs: NOW_MS - 2_000, kind: 'refused', code: 'body_not_json', keyId: null, caller: null, index: null },
        ...{ event: null, fields: [] },
      },
    ],
  });
  const text = await expectDone(shop.svc('site rejections shop'));
  expect(text).toMatch(/rejected +timestamp_invalid +4/);
  expect(text).toContain('counted since: 2026-11-21T11:00:00Z');
  expect(text).not.toContain('9f86d081884c7d65');
  const sampled = await expectDone(shop.svc('site rejections shop --from 12h --samples'));
  expect(sampled).toMatch(/rejected +timestamp_invalid +buy +3 +server +9f86d081884c7d65 +event timestamp/);
  expect(sampled).toMatch(/refused +body_not_json +- +- +- +- +-/);
  expect(JSON.parse(await expectDone(shop.svc('site rejections shop --json')))).toMatchObject({
    totals: [{ count: 4 }],
  });
});

test('a site of which everything was accepted', async () => {
  const shop = await installedShop();
  expect(await expectDone(shop.svc('site rejections shop'))).toContain('Everything was accepted.');
});
