import { expect } from 'vitest';
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

const { sends, names } = caseBuilder((form) => ({ data: [form] }), 'data[0]');
const SHOP = { action_source: 'physical_store', properties: {} } as const;

const nameCases = names(
  [
    ['page_view', 'Pageview'],
    ['$pageview', 'Pageview'],
    ['view_item', 'ViewContent'],
    ['view_item_list', 'ViewContent'],
    ['Products Searched', 'Search'],
    ['add_to_cart', 'AddToCart'],
    ['add_to_wishlist', 'AddToWishlist'],
    ['Checkout Started', 'InitiateCheckout'],
    ['add_payment_info', 'AddPaymentInfo'],
    ['Order Completed', 'Purchase'],
    ['CompletePayment', 'Purchase'],
    ['SubmitForm', 'Lead'],
    ['Signed Up', 'CompleteRegistration'],
    ['subscribe', 'Subscribe'],
    ['start_trial', 'StartTrial'],
    ['contact', 'Contact'],
    ['schedule', 'Schedule'],
    ['find_location', 'FindLocation'],
    ['customize_product', 'CustomizeProduct'],
    ['download', 'Download'],
    ['submit_application', 'SubmitApplication'],
    ['donate', 'donate'],
    ['refund', 'refund'],
    ['Quiz finished', 'Quiz finished'],
  ],
  (event) => ({ event }),
);

const sourceCases: MappingCase[] = [
  {
    ...sends('source: the website is the pixel', {}, { page: { url: PAGE.$current_url } }),
    expected: { form: { event_source: 'web', event_source_id: 'CABCDEFGHIJ0123456789' } },
  },
  ...(['physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const).map(
    (action_source): MappingCase => ({
      ...sends(`source: ${action_source}`, { action_source }, {}),
      expected: {
        form: { event_source: 'offline', event_source_id: '7000000000000000001', data: [{ event: 'Purchase' }] },
        without: ['data[0].page', 'data[0].lead'],
      },
    }),
  ),
  {
    ...sends(
      'source: a back-office event of a lead',
      {
        action_source: 'system_generated',
        properties: { lead_id: 'L-1', lead_event_source: 'HubSpot' },
      },
      {},
    ),
    expected: {
      form: {
        event_source: 'crm',
        event_source_id: '7000000000000000002',
        data: [{ lead: { lead_id: 'L-1', lead_event_source: 'HubSpot' } }],
      },
    },
  },
  withSettings(
    {
      ...sends(
        'source: a lead where there is no CRM event set',
        {
          action_source: 'system_generated',
          properties: { lead_id: 'L-1' },
        },
        {},
      ),
      expected: { form: { event_source: 'offline' }, without: ['data[0].lead'] },
    },
    { crm_event_set_id: '' },
  ),
  withSettings(
    {
      ...sends('source: a back office where there is no offline event set', { action_source: 'system_generated' }, {}),
      expected: {
        form: { event_source: 'web', event_source_id: 'CABCDEFGHIJ0123456789', data: [{ event: 'Purchase' }] },
      },
    },
    { offline_event_set_id: '' },
  ),
  skips(
    'source: a back office of 7 days ago where there is no offline event set',
    { action_source: 'system_generated', timestamp: NOW_MS - 7 * DAY_MS },
    'too_old',
    { settings: { offline_event_set_id: '' } },
  ),
  sends(
    'source: a back office of 27 days ago',
    { action_source: 'system_generated', timestamp: NOW_MS - 27 * DAY_MS },
    { event: 'Purchase' },
  ),
  ...(['phone_call', 'chat', 'email'] as const).map((action_source) =>
    skips(
      `source: ${action_source} where there is no offline event set`,
      { action_source, properties: {} },
      'missing_event_source_id',
      { settings: { offline_event_set_id: '' } },
    ),
  ),
  skips('source: a shop where there is no offline event set', SHOP, 'missing_event_source_id', {
    settings: { offline_event_set_id: '' },
  }),
];

const userCases: MappingCase[] = [
  sends(
    'user: hashed identifiers, the phone with its plus',
    { identifiers: JANE },
    {
      user: {
        email: JANE.email,
        phone: expect.stringMatching(/^1e231c66.*ffbc8$/),
        external_id: JANE.external_id,
        first_name: JANE.first_name,
        last_name: JANE.last_name,
      },
    },
  ),
  sends(
    'user: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email, phone: JANE.phone }) },
    { user: { email: JANE.email, phone: JANE.phone } },
  ),
  sends(
    'user: an event of somebody else is not completed',
    { identifiers: { email: hash('own') }, person: personOf({ email: JANE.email, external_id: JANE.external_id }) },
    { user: expect.not.objectContaining({ external_id: JANE.external_id }) },
  ),
  sends(
    'user: a place in lower-case letters, its postal code hashed',
    { city: 'New York', state: 'N.Y.', zip: '10001-1234', country: 'US' },
    { user: { city: 'newyork', state: 'ny', country: 'us', zip_code: hash('10001') } },
  ),
  sends(
    'user: a place in letters of its own',
    { city: 'Köln', zip: '50 667', country: 'Germany' },
    { user: { city: 'köln', country: 'de', zip_code: hash('50667') } },
  ),
  sends(
    'user: browser and address as they are',
    { client_ip: '2001:db8::1', client_user_agent: 'Agent/1.0' },
    { user: { ip: '2001:db8::1', user_agent: 'Agent/1.0' } },
  ),
  sends('user: an address that is none', { client_ip: 'unknown' }, {}, 'user.ip'),
  sends(
    'click: the id and the cookie',
    { properties: { ...PAGE, ttclid: 'E.C.P.abc', _ttp: 'ttp-1', locale: 'de-DE' } },
    { user: { ttclid: 'E.C.P.abc', ttp: 'ttp-1', locale: 'de-DE' } },
  ),
  sends(
    'click: the id from the page address, its case kept',
    { properties: { $current_url: 'https://shop.example/?ttclid=E.C.P.AbC' } },
    { user: { ttclid: 'E.C.P.AbC' } },
  ),
  skips(
    'user: nothing to match by',
    { identifiers: null, client_ip: null, properties: PAGE },
    'insufficient_user_data',
  ),
];

const contentCases: MappingCase[] = [
  sends(
    'id: of a hit of the pixel the one that the page gave',
    { properties: { ...PAGE, $lib: 'tiktok_pixel', $event_id: 'page-7' } },
    { event_id: 'page-7' },
  ),
  sends(
    'whole: a purchase of the website',
    {
      event_id: 'order-9',
      identifiers: { email: JANE.email },
      properties: {
        $current_url: 'https://shop.example/thanks?o=9',
        $referrer: 'https://shop.example/checkout',
        items: [
          { item_id: 'A', item_name: 'Shirt', item_brand: 'Acme', item_category: 'Tops', price: 19.5, quantity: 2 },
          { item_id: 'B', price: '10.9' },
        ],
      },
    },
    {
      event: 'Purchase',
      event_time: NOW_MS / 1000 - 2,
      event_id: 'order-9',
      user: {
        email: JANE.email,
        ip: '203.0.113.7',
        user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
      },
      page: { url: 'https://shop.example/thanks?o=9', referrer: 'https://shop.example/checkout' },
      properties: {
        value: 49.9,
        currency: 'EUR',
        order_id: 'order-1',
        contents: [
          {
            content_id: 'A',
            content_name: 'Shirt',
            content_category: 'Tops',
            brand: 'Acme',
            price: 19.5,
            quantity: 2,
          },
          { content_id: 'B', price: 10.9, quantity: 1 },
        ],
        content_ids: ['A', 'B'],
        content_type: 'product',
        num_items: 3,
      },
      limited_data_use: false,
    },
  ),
  sends(
    'value: the currency in upper case',
    { currency: 'usd', value: 0 },
    { properties: { currency: 'USD', value: 0 } },
  ),
  skips('value: a purchase without one', { value: null }, 'missing_value'),
  skips('value: a purchase in no currency', { currency: 'euros' }, 'missing_currency'),
  sends(
    'value: other events need none',
    { event: 'contact', value: null, currency: null, order_id: null },
    { event: 'Contact' },
    'properties',
  ),
  sends(
    'search: what was looked for',
    { event: 'search', properties: { ...PAGE, search_term: 'shoes' } },
    { properties: { search_string: 'shoes' } },
  ),
  sends(
    "Segment's products",
    { properties: { ...PAGE, products: [{ product_id: 'p', quantity: 3 }], description: 'Gift', shop_id: 's-1' } },
    { properties: { content_ids: ['p'], num_items: 3, description: 'Gift', shop_id: 's-1' } },
  ),
  sends('nothing else of the properties', { properties: { ...PAGE, note: 'x' } }, {}, 'properties.note'),
];

const ruleCases: MappingCase[] = [
  sends(
    'time: nearly 7 days ago on the website',
    { timestamp: NOW_MS - 7 * DAY_MS + 120_000 },
    { event_time: NOW_MS / 1000 - 7 * 86_400 + 120 },
  ),
  skips('time: 7 days ago on the website', { timestamp: NOW_MS - 7 * DAY_MS }, 'too_old'),
  sends('time: 27 days ago in a shop', { ...SHOP, timestamp: NOW_MS - 27 * DAY_MS }, { event: 'Purchase' }),
  skips('time: 28 days ago in a shop', { ...SHOP, timestamp: NOW_MS - 28 * DAY_MS }, 'too_old'),
  sends(
    'time: a clock that runs ahead',
    { timestamp: NOW_MS + DAY_MS, received_at: NOW_MS - 5_000 },
    { event_time: NOW_MS / 1000 - 5 },
  ),
  sends(
    'limited data use: by the event',
    { properties: { ...PAGE, limited_data_use: true } },
    { limited_data_use: true },
  ),
  sends(
    'limited data use: as a text',
    { properties: { ...PAGE, limited_data_use: 'true' } },
    { limited_data_use: true },
  ),
  sends('limited data use: after an opt out', { properties: { ...PAGE, opt_out: 1 } }, { limited_data_use: true }),
  withSettings(
    sends(
      'limited data use: not by the event',
      { properties: { ...PAGE, limited_data_use: 'no' } },
      {
        limited_data_use: false,
      },
    ),
    { limited_data_use: 'yes' },
  ),
  withSettings(sends('limited data use: by the site', {}, { limited_data_use: true }), { limited_data_use: 'yes' }),
  withSettings(
    sends(
      'limited data use: a signal that is not set does not lift it',
      { properties: { ...PAGE, gpc: false, us_privacy: '1YNN' } },
      { limited_data_use: true },
    ),
    { limited_data_use: 'yes' },
  ),
  withSettings(sends('chosen name', { event: 'quiz_done' }, { event: 'Lead' }), { event_names: 'Quiz done=Lead' }),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { event: 'CompleteRegistration' }), 'sign_up'),
  switchedOff('tiktok'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
  withSettings(
    {
      ...sends('request: a test event code', {}, {}),
      expected: { form: { test_event_code: 'TEST1' }, path: '/open_api/v1.3/event/track/' },
    },
    { test_event_code: 'TEST1' },
  ),
];

export const tiktokCases: readonly MappingCase[] = [
  ...nameCases,
  ...sourceCases,
  ...userCases,
  ...contentCases,
  ...ruleCases,
  sends(
    'user: several addresses, numbers and forms of a customer number go as lists',
    { identifiers: JANE, further_identifiers: MORE_OF_JANE },
    {
      user: {
        email: [JANE.email, MORE_OF_JANE[0]?.email],
        phone: [JANE.phone, MORE_OF_JANE[1]?.phone],
        external_id: [JANE.external_id, MORE_OF_JANE[2]?.external_id],
      },
    },
  ),
  sends(
    'user: a postal code hashed by the sender is not hashed again, other hashed places are left out',
    { zip: hash('10001'), city: hash('newyork'), state: hash('ny'), country: hash('us') },
    { user: { zip_code: hash('10001'), country: 'us' } },
    'user.city',
    'user.state',
  ),
];
