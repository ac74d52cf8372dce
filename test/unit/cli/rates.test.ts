import { expect, test } from 'vitest';
import { expectDone, installation } from './harness.ts';

test('rates of a file of the European Central Bank are loaded, listed and taken back', async () => {
  const shop = await installation();
  expect(await expectDone(shop.svc('rates list'))).toBe('No rates are loaded.\n');
  const lines = Array.from({ length: 6_000 }, (_, at) => {
    const day = new Date(Date.UTC(2000, 0, 3) + at * 86_400_000).toISOString().slice(0, 10);
    return `${day},1.0831,${at < 10 ? 'N/A' : '161.37'},`;
  });
  shop.files.set('hist.csv', ['Date,USD,JPY,', ...lines].join('\n'));
  const loaded = await expectDone(shop.svc('rates load hist.csv --base EUR'));
  expect(loaded.split('\n')).toEqual([
    'Rates against EUR:',
    'CURRENCY  FIRST       LAST        DAYS',
    'EUR       2000-01-03  2016-06-06  6000',
    'JPY       2000-01-13  2016-06-06  5990',
    'USD       2000-01-03  2016-06-06  6000',
    '',
  ]);
  expect(await expectDone(shop.svc('rates list'))).toBe(loaded);
  expect(await expectDone(shop.svc('rates clear'))).toBe('No rates are loaded.\n');
});

test('a file that has something else is refused before anything is loaded', async () => {
  const shop = await installation();
  shop.files.set('rates.csv', 'day,currency,rate\n2026-10-01,USD,1.08\n2026-10-02,USD,a lot\n');
  const refused = await shop.svc('rates load rates.csv --base EUR');
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    'svc: rates_unreadable: line 3: is no day, currency and rate\n',
  ]);
  expect(await expectDone(shop.svc('rates list'))).toBe('No rates are loaded.\n');
});
