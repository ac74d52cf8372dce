import { expect, test } from 'vitest';
import { ga4Parameters, pixelParameters } from '#services/tag/src/vendor_events.ts';

const PURCHASE = {
  value: 30,
  currency: 'EUR',
  order_id: 'A-1',
  email: 'jane@shop.example',
  items: [{ item_id: 'sku-1', item_name: 'Cup', price: 15, quantity: 2 }],
};

test("Meta gets what was bought in Meta's terms", () =>
  expect(pixelParameters(PURCHASE, 'id', 'item_price')).toEqual({
    value: 30,
    currency: 'EUR',
    order_id: 'A-1',
    contents: [{ id: 'sku-1', quantity: 2, item_price: 15 }],
    content_ids: ['sku-1'],
    content_type: 'product',
  }));

test('products of Segment count one where no quantity is said', () =>
  expect(pixelParameters({ products: [{ product_id: 'p', price: 5 }] }, 'content_id', 'price')).toMatchObject({
    contents: [{ content_id: 'p', quantity: 1, price: 5 }],
  }));

test('GA4 gets the order as its transaction, and the event id', () =>
  expect(ga4Parameters(PURCHASE, 'u-1')).toEqual({
    value: 30,
    currency: 'EUR',
    items: PURCHASE.items,
    transaction_id: 'A-1',
    event_id: 'u-1',
  }));

test.each([ga4Parameters(PURCHASE, 'u'), pixelParameters(PURCHASE, 'id', 'price')])(
  'nothing of the person goes along',
  (told) => expect(JSON.stringify(told)).not.toContain('jane'),
);
