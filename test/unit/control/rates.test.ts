import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { controlWithShop, LABEL } from './harness.ts';

const USD = { day: '2026-10-01', currency: 'USD', rate: 1.0831 };

test('rates are loaded over those of the same days, shown by currency and taken back, as the audit says', async () => {
  const world = await controlWithShop();
  expect((await world.call('GET', 'rates')).body).toEqual({ base: null, currencies: [] });
  const later = { ...USD, day: '2026-10-02' };
  const loaded = await world.call('PUT', 'rates', { body: { base: 'EUR', rates: [later, USD] } });
  const days = { first: '2026-10-01', last: '2026-10-02', days: 2 };
  expect([loaded.status, loaded.body]).toEqual([
    200,
    {
      base: 'EUR',
      currencies: [
        { currency: 'EUR', ...days },
        { currency: 'USD', ...days },
      ],
    },
  ]);
  expect((await world.call('DELETE', 'rates')).body).toEqual({ base: null, currencies: [] });
  const { items } = (await world.call('GET', 'audit?setting_key=rates')).body;
  expect(items).toMatchObject([
    { changed_by: LABEL, after: { clear: true } },
    { changed_by: LABEL, after: { base: 'EUR', rates: 2, from: '2026-10-01', to: '2026-10-02' } },
  ]);
});

test('rates against another currency than those that are loaded are refused, and such as there cannot be', async () => {
  const world = await controlWithShop();
  await world.call('PUT', 'rates', { body: { base: 'EUR', rates: [USD] } });
  const put = async (body: object): Promise<unknown> => {
    const { status, body: answer } = await world.call('PUT', 'rates', { body });
    return [status, answer.error.code, answer.problems?.map(({ field }: { field: string }) => field)];
  };
  expect(await put({ base: 'USD', rates: [{ ...USD, currency: 'EUR' }] })).toEqual([
    409,
    'rates_base_differs',
    undefined,
  ]);
  expect(await put({ base: 'EUR', rates: [USD, { ...USD, day: '2026-02-30', rate: 0 }] })).toEqual([
    400,
    'settings_invalid',
    ['rates[1].day', 'rates[1].rate'],
  ]);
  expect(await put({ base: 'euro', rates: [USD] })).toEqual([400, 'settings_invalid', ['base']]);
});

test('the audit says of rates that could not be stored that they were not', async () => {
  const world = await controlWithShop();
  world.rates.write = () => Promise.reject(new WarehouseError('warehouse_unavailable', 'away'));
  expect((await world.call('PUT', 'rates', { body: { base: 'EUR', rates: [USD] } })).status).toBe(503);
  const { items } = (await world.call('GET', 'audit?setting_key=rates')).body;
  expect(items).toMatchObject([
    { after: { base: 'EUR', rates: 1, failed: true } },
    { after: { base: 'EUR', rates: 1 } },
  ]);
});
