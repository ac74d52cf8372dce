import { NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import {
  caseBuilder,
  DAY_MS,
  definedAs,
  hash,
  JANE,
  MORE_OF_JANE,
  PAGE,
  skips,
  switchedOff,
  withSettings,
} from '../case_builders.ts';
import type { MappingCase } from '../subject.ts';

const { sends, names, sources } = caseBuilder((form) => ({ data: [form] }), 'data[0]');
const OFFLINE = { action_source: 'offline' };

const nameCases = names(
  [
    ['page_view', 'page_visit'],
    ['view_item', 'view_content'],
    ['Product List Viewed', 'view_category'],
    ['search', 'search'],
    ['Product Added', 'add_to_cart'],
    ['add_to_wishlist', 'add_to_wishlist'],
    ['begin_checkout', 'initiate_checkout'],
    ['add_payment_info', 'add_payment_info'],
    ['Order Completed', 'checkout'],
    ['generate_lead', 'lead'],
    ['Signed Up', 'signup'],
    ['subscribe', 'subscribe'],
    ['start_trial', 'start_trial'],
    ['contact', 'contact'],
    ['schedule', 'schedule'],
    ['find_location', 'find_location'],
    ['customize_product', 'customize_product'],
    ['submit_application', 'submit_application'],
    ['refund', 'custom'],
    ['Quiz finished', 'custom'],
  ],
  (event_name) => ({ event_name }),
);

export const pinterestCases: readonly MappingCase[] = [
  ...nameCases,
  withSettings(sends('chosen name', { event: 'quiz_done' }, { event_name: 'lead' }), { event_names: 'quiz_done=lead' }),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { event_name: 'signup' }), 'sign_up'),
  switchedOff('pinterest'),
  ...sources({
    website: { action_source: 'web', event_source_url: PAGE.$current_url },
    physical_store: OFFLINE,
    phone_call: OFFLINE,
    chat: OFFLINE,
    email: OFFLINE,
    system_generated: OFFLINE,
  }),
  sends(
    'whole: a purchase of the website',
    {
      event_id: 'order-9',
      identifiers: JANE,
      city: 'New York',
      state: 'NY',
      zip: '10001',
      country: 'US',
      properties: {
        ...PAGE,
        epik: 'click-1',
        language: 'en-US',
        items: [
          { item_id: 'A', item_name: 'Shirt', item_brand: 'Acme', item_category: 'Tops', price: 19.5, quantity: 2 },
        ],
      },
    },
    {
      event_name: 'checkout',
      event_time: NOW_MS / 1000 - 2,
      event_id: 'order-9',
      action_source: 'web',
      language: 'en',
      user_data: {
        em: [JANE.email],
        ph: [JANE.phone_digits],
        fn: [JANE.first_name],
        ln: [JANE.last_name],
        external_id: [JANE.external_id],
        ct: [hash('newyork')],
        st: [hash('ny')],
        zp: [hash('10001')],
        country: [hash('us')],
        client_ip_address: '203.0.113.7',
        client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
        click_id: 'click-1',
      },
      custom_data: {
        value: '49.9',
        currency: 'EUR',
        order_id: 'order-1',
        contents: [
          { id: 'A', item_name: 'Shirt', item_brand: 'Acme', item_category: 'Tops', item_price: '19.5', quantity: 2 },
        ],
        content_ids: ['A'],
        num_items: 2,
      },
    },
    'opt_out',
  ),
  sends('value: zero is a value', { value: 0 }, { custom_data: { value: '0' } }),
  sends('value: what is absent is left out', { value: null, currency: null, order_id: null }, {}, 'custom_data'),
  sends(
    'user: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email }) },
    {
      user_data: { em: [JANE.email] },
    },
  ),
  sends(
    'user: both forms of a British postal code',
    { zip: 'SW1A 1AA', country: 'GB' },
    {
      user_data: { zp: [hash('sw1a1aa'), hash('sw1a1')] },
    },
  ),
  sends(
    'user: address and browser are enough',
    { identifiers: null },
    { user_data: { client_ip_address: '203.0.113.7' } },
    'user_data.em',
  ),
  skips(
    'user: a phone alone is not',
    { identifiers: { email: null, phone_digits: hash('1') }, client_ip: null },
    'insufficient_user_data',
  ),
  sends(
    'click: from the page address',
    { properties: { $current_url: 'https://shop.example/?epik=dj0yJnU9' } },
    {
      user_data: { click_id: 'dj0yJnU9' },
    },
  ),
  sends('opt out: as a text', { properties: { ...PAGE, opt_out: 'true' } }, { opt_out: true }),
  sends(
    'limited data use: by the event',
    { properties: { ...PAGE, data_processing_options: 'LDU' } },
    { custom_data: { opt_out_type: 'LDP' } },
    'opt_out',
  ),
  sends('opt out: by the event', { properties: { ...PAGE, opt_out: true } }, { opt_out: true }),
  sends(
    'time: nearly 7 days ago',
    { timestamp: NOW_MS - 7 * DAY_MS + 120_000 },
    { event_time: NOW_MS / 1000 - 7 * 86_400 + 120 },
  ),
  skips('time: 7 days ago', { timestamp: NOW_MS - 7 * DAY_MS }, 'too_old'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
  sends(
    'user: several addresses, numbers, forms of a customer number and of a postal code',
    { identifiers: JANE, further_identifiers: MORE_OF_JANE, zip: '1000-205', country: 'PT' },
    {
      user_data: {
        em: [JANE.email, MORE_OF_JANE[0]?.email],
        ph: [JANE.phone_digits, MORE_OF_JANE[1]?.phone_digits],
        external_id: [JANE.external_id, MORE_OF_JANE[2]?.external_id],
        zp: [hash('1000205'), hash('1000-205')],
      },
    },
  ),
];
