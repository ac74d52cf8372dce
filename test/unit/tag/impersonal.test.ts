import { expect, test } from 'vitest';
import { impersonal } from '#services/tag/src/redact.ts';
import { checkAll } from '#test/harness/check_all.ts';

const HOME = { $current_url: 'https://shop.example/' };
const of = (properties: object): object => {
  const { $current_url, ...others } = impersonal({ ...HOME, ...properties });
  expect($current_url).toBe(HOME.$current_url);
  return others;
};

test('of addresses the path, the campaign and the site before are left', () => {
  const $current_url = 'https://shop.example/cart?utm_source=mail&email=eva%40mail.example&fbclid=F1#step';
  expect(impersonal({ $current_url, $referrer: 'https://mail.example/inbox?user=eva' })).toEqual({
    $current_url: 'https://shop.example/cart',
    $referrer: 'https://mail.example',
    utm_source: 'mail',
  });
});

test('a property that names somebody goes, whatever is in it, a list or an object too', () =>
  checkAll(
    [
      ...['email', 'e-mail', 'E_Mail', 'customer_email', 'billingEmail', 'mail', 'newsletterMail'],
      ...['phone', 'phone_number', 'phoneNumber', 'mobile', 'mobile_phone', 'tel', 'Telephone', 'fax'],
      ...[
        'first_name',
        'firstName',
        'lastname',
        'Last Name',
        'fullName',
        'surname',
        'username',
        'user_name',
        'nick',
        'name',
      ],
      ...['customer_name', 'display_name', 'contact_name', 'login', 'alias'],
      ...['external_id', 'user_id', 'userId', 'userid', 'customer_id', 'customerId', 'client_id', 'clientID', 'cid'],
      ...[
        'anonymous_id',
        'anonymousId',
        '$device_id',
        'deviceId',
        'session_id',
        '$session_id',
        'distinct_id',
        'visitorId',
      ],
      ...[
        '$anon_distinct_id',
        'account_id',
        'member_id',
        'loyalty_card_id',
        'uid',
        'uuid',
        'guid',
        'ids',
        'user_ids',
        'id',
      ],
      ...['client_ip_address', 'ip', '$ip', 'ipv4', 'email2', 'userId2', 'clientIp', 'IPAddress', 'ip_address'],
      ...[
        'city',
        'zip',
        'zipcode',
        'zip_code',
        'postal_code',
        'postcode',
        'plz',
        'street',
        'address',
        'shippingAddress',
      ],
      ...['lat', 'longitude', 'birth_date', 'birthday', 'dob', 'iban', 'ssn', 'vat'],
      ...[
        'fbclid',
        'gclid',
        'msclkid',
        'gbraid',
        'wbraid',
        'li_fat_id',
        'ttclid',
        '_fbp',
        '_fbc',
        'fbp',
        '_ttp',
        '_ga',
        'gid',
      ],
      ...[
        'token',
        'auth_token',
        'cookie',
        'password',
        'fingerprint',
        'user',
        'customer',
        'traits',
        'email_hash',
        'hash',
      ],
    ],
    (name) => {
      expect(of({ [name]: 'x', plan: 'pro' })).toEqual({ plan: 'pro' });
      expect(of({ [name]: 7, a: { [name]: ['x'], b: { [name]: { c: 1 } } } })).toEqual({ a: { b: {} } });
    },
  ));

test('what was bought stays, with the numbers that products, orders and amounts have', () => {
  const bought = {
    ...{ value: 150_000_000, currency: 'IDR', order_id: '202611240001', transaction_id: 'T-2026112400017' },
    ...{ coupon: 'SPRING', shipping: 5, tax: 1.5, content_ids: ['4006381333931'], affiliation: 'Shop' },
    items: [{ item_id: '4006381333931', item_name: 'Shoe', item_category: 'Shoes', price: 12.345678901, quantity: 2 }],
    ...{ capacity: 5, step: 2, method: 'card', search_term: 'red shoes', is_member: true, skipped: null },
  };
  expect(of(bought)).toEqual(bought);
});

test('a text that holds an address, a number or an id goes, however deep, also as the name of a property', () =>
  checkAll(
    [
      ['an e-mail address', 'Write to eva@mail.example today'],
      ['an e-mail address as in a query', 'eva%40mail.example'],
      ['a phone number', 'Call +43 (660) 123-456-7'],
      ['a long number', '436601234567'],
      ['a UUID', '0190f7a2-6c1e-7d4b-9a3c-1f2e3d4c5b6a'],
      ['a token', 'ya29a0AfH6SMBx7qK9'.repeat(2)],
    ],
    ([, text]) => {
      expect(of({ note: text, plan: 'pro' })).toEqual({ plan: 'pro' });
      expect(of({ a: [{ note: text, n: 1 }, text, 'b'] })).toEqual({ a: [{ n: 1 }, 'b'] });
      expect(of({ a: { [text]: 1, n: 1 } })).toEqual({ a: { n: 1 } });
    },
  ));

test('a number that may be a phone goes', () => {
  expect(of({ note: 43_660_123_456, step: 3 })).toEqual({ step: 3 });
});

test('an address does not stand in the order number either', () => {
  expect(of({ order_id: 'eva@mail.example', step: 2 })).toEqual({ step: 2 });
});

test('in the address, the campaign and the title they are masked', () => {
  const $current_url =
    'https://shop.example/u/eva@mail.example/0190f7a2-6c1e-7d4b-9a3c-1f2e3d4c5b6a/436601234567?utm_source=mail&utm_term=eva%40mail.example&utm_content=436601234567';
  expect(impersonal({ $current_url, $title: 'Eva (eva@mail.example), 436601234567 – Shop' })).toEqual({
    $current_url: 'https://shop.example/u/***/***/***',
    $title: 'Eva *** *** – Shop',
    ...{ utm_source: 'mail', utm_term: '***', utm_content: '***' },
  });
});

test('a date is a text, as the edge gets it', () => {
  expect(of({ when: new Date(0) })).toEqual({ when: '1970-01-01T00:00:00.000Z' });
});
