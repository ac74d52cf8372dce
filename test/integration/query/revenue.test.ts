import { expect, test } from 'vitest';
import { createRateStore } from '#infra/clickhouse/currency_rates.ts';
import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { Event } from '#schemas/event.ts';
import { storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const DAY = 24 * 60;
/** October 2026 in UTC; the rows' minute 0 is its fifth day at noon. */
const OCTOBER = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1), interval: 'month', fresh: true } as const;

const eur = (value: number | null, order_id: string, properties: object = {}): Partial<Event> => ({
  ...{ value, currency: 'EUR', order_id: order_id === '' ? null : order_id },
  properties: JSON.stringify(properties),
});

interface Case {
  name: string;
  rows: EventRow[];
  /** Figures of the currency with most payments: gross, refunds, net, and orders. */
  euros: [gross: number, refunds: number, net: number, orders: number];
  more?: object;
}

const sale = (value: number | null, id = 'o1', minute = 0, properties: object = {}): EventRow =>
  storedRow('ann', 'purchase', minute, eur(value, id, properties));
const refund = (value: number | null, id = 'o1', minute = 10, properties: object = {}): EventRow =>
  storedRow('shop-system', 'refund', minute, eur(value, id, properties));

const CASES: Case[] = [
  {
    name: 'orders without an id whose events have the id of one on another day, or of a refund',
    rows: [
      storedRow('ann', 'purchase', 0, { ...eur(10, ''), event_id: 'one' }),
      storedRow('ann', 'purchase', 3 * DAY, { ...eur(20, ''), event_id: 'one' }),
      storedRow('ann', 'purchase', 0, { ...eur(40, ''), event_id: 'two' }),
      storedRow('ann', 'refund', 5 * DAY, { ...eur(25, ''), event_id: 'two' }),
    ],
    euros: [70, 25, 45, 3],
    more: { refunded: 1 },
  },
  {
    name: 'nothing that is known is cancelled',
    rows: [
      storedRow('ann', 'purchase', 0, { ...eur(40, ''), event_id: 'one' }),
      storedRow('ann', 'order_cancelled', 2 * DAY, { ...eur(null, ''), event_id: 'one' }),
    ],
    euros: [40, 0, 40, 1],
  },
  { name: 'a whole refund by its amount', rows: [sale(50), refund(50)], euros: [50, 50, 0, 1] },
  { name: 'a whole refund that names the order alone', rows: [sale(50), refund(null)], euros: [50, 50, 0, 1] },
  {
    name: 'a part first, then the whole order: what is left of it, on each day',
    rows: [sale(50), refund(15), refund(50, 'o1', 20)],
    euros: [50, 50, 0, 1],
    more: { refunded: 2 },
  },
  {
    name: 'parts that come to more than the order',
    rows: [sale(50), refund(30), refund(30, 'o1', 20)],
    euros: [50, 50, 0, 1],
  },
  { name: 'two parts of the same amount', rows: [sale(50), refund(5), refund(5, 'o1', 20)], euros: [50, 10, 40, 1] },
  {
    name: 'one part that was sent twice under its own id',
    rows: [sale(50), refund(5, 'o1', 10, { refund_id: 'r1' }), refund(5, 'o1', 20, { refund_id: 'r1' })],
    euros: [50, 5, 45, 1],
  },
  { name: 'a refund before its purchase', rows: [refund(20, 'o1', -30), sale(50)], euros: [50, 20, 30, 1] },
  { name: 'a refund of less than nothing is of its amount', rows: [sale(50), refund(-20)], euros: [50, 20, 30, 1] },
  {
    name: 'a purchase of less than nothing is a refund',
    rows: [sale(50), sale(-20, 'o1', 30)],
    euros: [50, 20, 30, 1],
  },
  { name: 'a refund of an unknown order counts', rows: [sale(50), refund(20, 'o2')], euros: [50, 20, 30, 1] },
  {
    name: 'a refund of an unknown order without an amount takes nothing',
    rows: [sale(50), refund(null, 'o2')],
    euros: [50, 0, 50, 1],
  },
  { name: 'a refund of nothing takes nothing', rows: [sale(50), refund(0)], euros: [50, 0, 50, 1] },
  {
    name: 'a refund of articles without an amount takes their prices',
    rows: [sale(50), refund(null, 'o1', 10, { items: [{ price: 4.5, quantity: 2 }, { price: '1' }] })],
    euros: [50, 10, 40, 1],
  },
  {
    name: 'a refund without a currency is in that of its order',
    rows: [sale(50), { ...refund(20), currency: '' }],
    euros: [50, 20, 30, 1],
  },
  {
    name: 'a cancelled order is worth nothing, also where it was refunded',
    rows: [sale(50), storedRow('x', 'Order Cancelled', 5, eur(50, 'o1')), refund(50)],
    euros: [50, 50, 0, 1],
  },
  {
    name: 'a cancelled order that nobody paid takes nothing',
    rows: [sale(50), storedRow('x', 'order_cancelled', 5, eur(50, 'o2'))],
    euros: [50, 0, 50, 1],
  },
  { name: 'an order of nothing', rows: [sale(0), sale(10, 'o2', 5)], euros: [10, 0, 10, 2] },
  { name: 'orders without an id are orders each', rows: [sale(10, ''), sale(10, '', 5)], euros: [20, 0, 20, 2] },
  { name: 'an order by browser and by server', rows: [sale(10), sale(10, 'o1', 1)], euros: [10, 0, 10, 1] },
  {
    name: 'an order of which only the second event says what it is worth',
    rows: [sale(null), sale(10, 'o1', 1)],
    euros: [10, 0, 10, 1],
  },
  {
    name: 'the same order id at another site',
    rows: [sale(10), { ...sale(10, 'o1', -5), site_id: 'other' }, { ...refund(10), site_id: 'other' }],
    euros: [10, 0, 10, 1],
  },
  {
    name: 'an order of a month ago that came again, and its refund now',
    rows: [sale(40, 'o1', -30 * DAY), sale(40), refund(40), sale(5, 'o2')],
    euros: [5, 40, -35, 1],
  },
  {
    name: 'what was refunded a month ago is not there to be refunded',
    rows: [sale(40, 'o1', -40 * DAY), refund(30, 'o1', -30 * DAY), refund(40), sale(5, 'o2')],
    euros: [5, 10, -5, 1],
  },
  {
    name: "Segment's names",
    rows: [storedRow('a', 'Order Completed', 0, eur(9, 'o1')), storedRow('a', 'Order Refunded', 1, eur(4, 'o1'))],
    euros: [9, 4, 5, 1],
  },
  {
    name: 'tax and shipping, with a part and then the whole order paid back',
    rows: [
      sale(50, 'o1', 0, { tax: 8, shipping: '4.5' }),
      sale(10, 'o2', 1, { tax: 2 }),
      refund(10, 'o1', 10, { tax: 1.5 }),
      refund(null, 'o1', 20),
    ],
    euros: [60, 50, 10, 2],
    more: { tax: 2, shipping: 0 },
  },
  {
    name: 'tax and shipping of a part paid back',
    rows: [sale(50, 'o1', 0, { tax: 8, shipping: 4 }), refund(10, 'o1', 10, { tax: 1.5, shipping: 9 })],
    euros: [50, 10, 40, 1],
    more: { tax: 6.5, shipping: 0 },
  },
  {
    name: 'renewals apart, whatever says that they are',
    rows: [
      sale(50),
      storedRow('ann', 'subscription_renewed', 1, eur(7, 'i1')),
      sale(8, 'i2', 2, { billing_reason: 'subscription_cycle' }),
      sale(9, 'i3', 3, { $is_renewal: true }),
      sale(1, 'i4', 4, { is_renewal: 'false' }),
      refund(2, 'i2', 9),
    ],
    euros: [51, 0, 51, 2],
    more: { renewals: expect.objectContaining({ orders: 3, gross: 24, refunds: 2, net: 22, persons: 1 }) },
  },
];

test('orders, refunds and renewals count once, whatever senders do', async () => {
  const world = await create();
  for (const [number, { name, rows, euros, more = {} }] of CASES.entries()) {
    const siteId = `case-${number}`;
    await world.control.call('POST', 'sites', { body: { site_id: siteId, account_id: 'acme' } });
    await world.store([rows.map((row) => (row.site_id === 'shop' ? { ...row, site_id: siteId } : row))]);
    const { body } = await world.control.call('POST', `/v1/query/${siteId}/revenue`, { body: OCTOBER });
    const [gross, refunds, net, orders] = euros;
    const figures = { currency: 'EUR', digits: 2, gross, refunds, net, orders, ...more };
    expect((body as RevenueAnswer).currencies, name).toEqual([expect.objectContaining(figures)]);
  }
});

test('however many payments are in currencies that there are not, those that there are come first', async () => {
  const world = await create();
  const made = Array.from({ length: 25 }, (_, at) => `Q${String.fromCharCode(65 + at)}Q`);
  const orders = [...made, ...made, 'EUR', ''];
  const rows = orders.map((currency, at) =>
    storedRow('ann', 'purchase', at, { value: 5, currency, order_id: `order-${at}` }),
  );
  await world.store([rows]);
  const { currencies, more_currencies } = await world.ask<RevenueAnswer>('revenue', OCTOBER);
  expect(currencies.slice(0, 3).map(({ currency, orders: paid }) => [currency, paid])).toEqual([
    ['', 1],
    ['EUR', 1],
    ['QAQ', 2],
  ]);
  expect([currencies.length, more_currencies]).toEqual([20, 7]);
});

test('currencies beyond those that are listed are counted, and letters and spaces make none', async () => {
  const world = await create();
  const codes = Array.from({ length: 22 }, (_, at) => `Q${String.fromCharCode(65 + at)}Q`);
  const rows = codes.map((currency, at) =>
    storedRow('ann', 'purchase', at, { value: 1, currency, order_id: currency }),
  );
  const small = storedRow('ann', 'purchase', 30, { value: 2, currency: ' qaq', order_id: 'small' });
  await world.store([[...rows, small]]);
  const { currencies, more_currencies } = await world.ask<RevenueAnswer>('revenue', OCTOBER);
  expect(currencies).toHaveLength(20);
  expect(currencies[0]).toMatchObject({ currency: 'QAQ', orders: 2, gross: 3 });
  expect(more_currencies).toBe(2);
});

test('as many rates as one request may have are stored', async () => {
  const { database } = await create();
  const rates = createRateStore(database.warehouse);
  const many = Array.from({ length: 10_000 }, (_, at) => ({
    day: new Date(Date.UTC(2000, 0, 1 + at)).toISOString().slice(0, 10),
    currency: 'USD',
    rate: 1.2345678901234567,
  }));
  await rates.write('EUR', many);
  const { base, currencies } = await rates.read();
  expect(base).toBe('EUR');
  expect(currencies.map(({ currency, days }) => [currency, days])).toEqual([
    ['EUR', 10_000],
    ['USD', 10_000],
  ]);
});

test('rates of two bases that were loaded at once are never mixed, and another load is refused', async () => {
  const world = await create();
  const rates = createRateStore(world.database.warehouse);
  const day = '2026-10-01';
  await rates.write('EUR', [{ day, currency: 'CHF', rate: 0.5 }]);
  await rates.write('USD', [{ day, currency: 'JPY', rate: 100 }]);
  expect((await rates.read()).base).toBe('EUR, USD');
  await world.store([[storedRow('ann', 'purchase', 1, { value: 100, currency: 'JPY', order_id: 'a' })]]);
  const told = await world.ask<RevenueAnswer>('revenue', { ...OCTOBER, currency: 'EUR' });
  expect(told.currencies.map(({ currency, gross }) => [currency, gross])).toEqual([['JPY', 100]]);
  const inDollars = await world.ask<RevenueAnswer>('revenue', { ...OCTOBER, currency: 'USD' });
  expect(inDollars.currencies.map(({ currency, gross }) => [currency, gross])).toEqual([['USD', 1]]);
});
