import { expect, test } from 'vitest';
import { namesPersons } from '#pipelines/analytics/personal_fields.ts';
import { checkAll } from '#test/harness/check_all.ts';

const SINGLING = [
  ...['email', 'phone', 'first_name', 'last_name', 'zip', 'external_id', 'client_ip_address', 'client_user_agent'],
  ...['order_id', '$order_id', 'orderId', 'order_ids', 'transaction_id', 'event_id', '$distinct_id', 'user_id'],
  ...['fbp', '_fbp', '$fbc', 'fbclid', 'gclid', '$gclid', 'wbraid', 'msclkid', 'ttclid', '_ttp', 'shop_clid'],
  ...['email_sha256', 'hashed_phone', 'full_name', 'birthday', 'date_of_birth', 'street', 'billing_address'],
];
/** What docs of shops, clinics and schools call one of their customers or orders by. */
const SINGLING_TOO = [
  ...[
    'iban',
    'ssn',
    'passport',
    'password',
    'token',
    'reset_token',
    'jwt',
    'card_number',
    'cvv',
    'imei',
    'latitude',
    'license_plate',
  ],
  ...[
    'invoice_number',
    'invoice',
    'booking_reference',
    'reservation_number',
    'ticket_number',
    'payment_id',
    'checkout_token',
  ],
  ...[
    'cart_token',
    'cart_id',
    'basket_id',
    'receipt',
    'order_ref',
    'order_reference',
    'confirmation_number',
    '$insert_id',
  ],
  ...[
    'patient_id',
    'employee_id',
    'student_no',
    'search_term',
    'comment',
    'message',
    'notes',
    'name',
    '$title',
    'tracking_number',
  ],
  ...[
    'bestellnummer',
    'pedido',
    'transaction_ref',
    'customer_number',
    'company_id',
    'instagram',
    'tax_id',
    'account_number',
  ],
];
const OF_MANY = [
  ...[
    'plan',
    'utm_campaign',
    '$browser',
    'city',
    'country',
    'value',
    'currency',
    'gender',
    'mobile',
    'device',
    'device_type',
    'os',
  ],
  ...['order_value', 'order_ids_count', 'item_id', 'coupon', 'item_name', 'cookie_consent', 'phone_clicks'],
];

test('a property of somebody singles somebody out, wherever a question names it', () =>
  checkAll([...SINGLING, ...SINGLING_TOO], (name) => {
    for (const property of [[name], ['details', name], [name, 'value']]) {
      for (const question of questionsAbout({ property })) expect(namesPersons(question), property.join()).toBe(true);
    }
    const isOfItem = ['name', '$title'].includes(name);
    expect(namesPersons({ filters: [{ field: { property: ['items'], each: [name] }, is: 'set' }] })).toBe(!isOfItem);
  }));

test('a property of no single person is asked about by who sees figures of many', () =>
  checkAll(OF_MANY, (name) => {
    for (const question of questionsAbout({ property: [name] })) expect(namesPersons(question)).toBe(false);
  }));

test('of an object that describes a person the whole singles out, and a part as its own name does', () => {
  for (const name of ['traits', 'user_data', '$set']) {
    expect(namesPersons({ field: { property: [name] } })).toBe(true);
  }
  expect(namesPersons({ field: { property: ['traits', 'plan'] } })).toBe(false);
  expect(namesPersons({ field: { property: ['traits', 'email'] } })).toBe(true);
});

test.each(['order_id', 'client_ip', 'distinct_id', 'zip'])('a column %s singles somebody out', (column) => {
  for (const question of questionsAbout({ column })) expect(namesPersons(question)).toBe(true);
});

test('what is compared with is no name', () => {
  const condition = { field: { property: ['plan'] }, is: 'equal', to: ['email', 'order_id'] };
  expect(namesPersons({ events: ['email'], filters: [condition] })).toBe(false);
});

/** A field as a filter, in groups of them, of a person, as a breakdown and among the values that are counted. */
function questionsAbout(field: object): object[] {
  const condition = { field, is: 'set' };
  return [
    { field },
    { filters: [condition] },
    { filters: [{ any: [{ all: [condition] }] }] },
    { steps: [{ filters: [{ field: { person: field, seen: 'first' }, is: 'set' }] }] },
    { breakdown: { field, at: 'first_touch' } },
    { breakdown: { fields: [{ column: 'country' }, field] } },
    { series: [{ measure: { of: 'unique', field } }] },
  ];
}

const ADDRESSES = [
  '$current_url',
  'page_location',
  'url',
  '$referrer',
  'page_referrer',
  'link_url',
  '$initial_current_url',
  'landing_page',
];

test('an address is asked about whole by who sees persons, and its page and host by everybody', () =>
  checkAll(ADDRESSES, (name) => {
    for (const question of questionsAbout({ property: [name] }).slice(0, 1)) expect(namesPersons(question)).toBe(true);
    expect(namesPersons({ filters: [{ field: { property: [name] }, is: 'containing', to: 'token=' }] })).toBe(true);
    expect(
      namesPersons({ filters: [{ field: { person: { property: [name] }, seen: 'first' }, is: 'equal', to: ['x'] }] }),
    ).toBe(true);
    for (const part of ['page', 'host', 'other_host']) {
      for (const question of questionsAbout({ property: [name], part })) expect(namesPersons(question)).toBe(false);
    }
    expect(namesPersons({ filters: [{ field: { property: [name] }, is: 'not_set' }] })).toBe(false);
  }));

test('the name of an article is asked about by everybody', () => {
  expect(namesPersons({ filters: [{ field: { property: ['items'], each: ['name'] }, is: 'set' }] })).toBe(false);
  expect(namesPersons({ field: { property: ['product', 'name'] } })).toBe(false);
});
