import { expect, test } from 'vitest';
import { impersonal } from '#services/tag/src/impersonal.ts';

const ADDRESS = 'https://shop.example/cart?utm_source=mail&email=eva%40mail.example&fbclid=F1#step';

test('of addresses the path, the campaign and the site before are left', () => {
  const properties = { $current_url: ADDRESS, $referrer: 'https://mail.example/inbox?user=eva' };
  expect(impersonal(properties)).toEqual({
    $current_url: 'https://shop.example/cart',
    $referrer: 'https://mail.example',
    utm_source: 'mail',
  });
});

test('what SPEC 2.2 knows a person by goes', () => {
  const person = {
    email: 'e',
    phone: 'p',
    first_name: 'f',
    last_name: 'l',
    external_id: 'x',
    user_id: 'u',
    userId: 'u',
  };
  const about = { value: 5, currency: 'EUR', order_id: 'o' };
  expect(impersonal({ $current_url: 'https://shop.example/', ...person, ...about })).toEqual({
    $current_url: 'https://shop.example/',
    ...about,
  });
});
