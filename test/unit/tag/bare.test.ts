import { expect, test } from 'vitest';
import { bare, covered } from '#services/tag/src/redact.ts';

test('of an event of nobody known the place, the campaign and the order are left, whatever the page put into it', () => {
  const properties = {
    $current_url: 'https://shop.example/cart?utm_source=mail&email=eva%40mail.example&fbclid=F1#step',
    $referrer: 'https://mail.example/inbox?user=eva',
    $title: 'Eva, your cart',
    ...{ value: 3, currency: 'EUR', order_id: 'o-1' },
    ...{ email: 'eva@mail.example', customer: { id: 4711 }, note: 'Eva', n: 4711 },
  };
  expect(bare(properties)).toEqual({
    $current_url: 'https://shop.example/cart',
    $referrer: 'https://mail.example',
    utm_source: 'mail',
    ...{ value: 3, currency: 'EUR', order_id: 'o-1' },
  });
});

test('what a person is reached by is covered in the path and in the campaign', () => {
  const $current_url =
    'https://shop.example/u/eva@mail.example/43660123456?utm_term=eva%40mail.example&utm_source=mail';
  expect(bare({ $current_url })).toMatchObject({
    $current_url: 'https://shop.example/u/***/***',
    utm_term: '***',
    utm_source: 'mail',
  });
});

test('a long token without an address in it is left', () => {
  const token = 'aBcD3fGh1jK'.repeat(100);
  expect(covered(token)).toBe(token);
});

test.for([
  ['sign_up', 'sign_up'],
  ['sign_up eva@mail.example', 'sign_up ***'],
  ['call 43660123456', 'call ***'],
  ['/a/eva%40mail.example/b', '/a/***/b'],
])('of %s %s is left', ([text, left]) => {
  expect(covered(text ?? '')).toBe(left);
});
