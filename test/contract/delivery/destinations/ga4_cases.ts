import { ITEM_ALIASES } from '#pipelines/intake/ga4/items.ts';
import { NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import {
  caseBuilder,
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

const HOUR_MS = 3_600_000;
const ALIASES = Object.entries(ITEM_ALIASES).flatMap(([name, others]) => others.map((alias) => [alias, name] as const));
const { sends, names } = caseBuilder((form) => ({ events: [form] }), 'events[0]');

/** A case about what the request says of its visitor. */
const visitor = (
  title: string,
  changes: Parameters<typeof sends>[1],
  form: object,
  ...without: string[]
): MappingCase => ({
  ...sends(title, changes, {}),
  expected: { form, without },
});

const nameCases = names(
  [
    ['page_view', 'page_view'],
    ['$pageview', 'page_view'],
    ['Product Viewed', 'view_item'],
    ['Product List Viewed', 'view_item_list'],
    ['view_search_results', 'search'],
    ['Product Added', 'add_to_cart'],
    ['AddToWishlist', 'add_to_wishlist'],
    ['InitiateCheckout', 'begin_checkout'],
    ['Payment Info Entered', 'add_payment_info'],
    ['Order Completed', 'purchase'],
    ['Order Refunded', 'refund'],
    ['Lead', 'generate_lead'],
    ['CompleteRegistration', 'sign_up'],
    ['Subscribe', 'subscribe'],
    ['StartTrial', 'start_trial'],
    ['Contact', 'contact'],
    ['Schedule', 'schedule'],
    ['FindLocation', 'find_location'],
    ['CustomizeProduct', 'customize_product'],
    ['Download', 'download'],
    ['Donate', 'donate'],
    ['SubmitApplication', 'submit_application'],
    ['Quiz finished!', 'Quiz_finished'],
    ['$identify', 'identify'],
    ['x'.repeat(60), 'x'.repeat(40)],
  ],
  (name) => ({ name }),
);

const nameRules: MappingCase[] = [
  skips('name: reserved by GA4', { event: 'session_start' }, 'reserved_event_name'),
  skips('name: reserved once it is formed', { event: 'Session_start'.toLowerCase() }, 'reserved_event_name'),
  skips('name: a reserved beginning', { event: 'google_thing' }, 'reserved_event_name'),
  skips('name: nothing GA4 could take', { event: '購入' }, 'unusable_event_name'),
  withSettings(sends('chosen name', { event: 'quiz_done' }, { name: 'quiz_complete' }), {
    event_names: 'quiz_done=quiz_complete',
  }),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { name: 'sign_up' }), 'Signed Up'),
  switchedOff('ga4'),
];

const routeCases: MappingCase[] = [
  withSettings(skips('route: the browser sends it itself', {}, 'routed_in_browser'), { route: 'browser' }),
  withSettings(
    sends("route: a server's event comes from here all the same", { caller: 'server' }, { name: 'purchase' }),
    {
      route: 'browser',
    },
  ),
  withSettings(
    skips(
      'route: what gtag has sent, and a server has passed on, the browser sends itself',
      { caller: 'server', properties: { ...PAGE, $lib: 'ga4' } },
      'routed_in_browser',
    ),
    { route: 'browser' },
  ),
  withSettings(
    sends(
      'route: what a server sends by the Measurement Protocol comes from here all the same',
      { caller: 'server', properties: { ...PAGE, $lib: 'ga4_mp' } },
      { name: 'purchase' },
    ),
    { route: 'browser' },
  ),
  sends(
    'route: what gtag has sent here only is sent from here, into its session',
    { properties: { ...PAGE, $lib: 'ga4', client_id: '123.456', ga_session_id: '1732000000' } },
    { name: 'purchase', params: { session_id: '1732000000' } },
  ),
  withSettings(
    sends(
      'route: an offline event comes from here all the same',
      { action_source: 'physical_store' },
      { name: 'purchase' },
    ),
    { route: 'browser' },
  ),
  {
    ...sends('request: stream and secret stand in the address', {}, {}),
    expected: {
      form: {},
      path: '/mp/collect?measurement_id=G-TEST12345&api_secret=secret-good',
      without: ['validation_behavior'],
    },
  },
  {
    ...withSettings(sends('request: enforced validation', {}, {}), { validation: 'enforced' }),
    expected: { form: { validation_behavior: 'ENFORCE_RECOMMENDATIONS' } },
  },
];

const visitorCases: MappingCase[] = [
  visitor(
    'visitor: the client id of the browser',
    { properties: { ...PAGE, client_id: '123.456' } },
    { client_id: '123.456' },
  ),
  visitor(
    'visitor: the client id in the cookie',
    { properties: { ...PAGE, _ga: 'GA1.1.1111111111.1700000000' } },
    { client_id: '1111111111.1700000000' },
  ),
  visitor(
    'visitor: the cookie under the name of the client id',
    { properties: { ...PAGE, ga_client_id: 'GA1.2.22.33' } },
    { client_id: '22.33' },
  ),
  visitor('visitor: a stable id where no browser gave one', {}, { client_id: '3414501396.583913858' }),
  visitor(
    'visitor: a stable id where the client id is a placeholder that all visitors share',
    { properties: { ...PAGE, client_id: 'undefined' } },
    { client_id: '3414501396.583913858' },
  ),
  visitor(
    'visitor: hashed data by Google, and the user id beside it',
    { identifiers: JANE, city: 'New York', state: 'NY', zip: '10001', country: 'US' },
    {
      user_id: JANE.external_id,
      user_data: {
        sha256_email_address: [JANE.email_google],
        sha256_phone_number: [JANE.phone],
        address: [
          {
            sha256_first_name: JANE.first_name_google,
            sha256_last_name: JANE.last_name,
            city: 'new york',
            region: 'ny',
            postal_code: '10001',
            country: 'US',
          },
        ],
      },
    },
  ),
  visitor(
    'visitor: several addresses and numbers, and a name in both forms; of places only those in clear',
    { identifiers: JANE, further_identifiers: MORE_OF_JANE, city: hash('newyork'), zip: hash('10001'), country: 'US' },
    {
      user_data: {
        sha256_email_address: [JANE.email_google, MORE_OF_JANE[0]?.email_google],
        sha256_phone_number: [JANE.phone, MORE_OF_JANE[1]?.phone],
        address: [
          { sha256_first_name: JANE.first_name_google, sha256_last_name: JANE.last_name, country: 'US' },
          {
            sha256_first_name: MORE_OF_JANE[2]?.first_name_google,
            sha256_last_name: MORE_OF_JANE[2]?.last_name_google,
            country: 'US',
          },
        ],
      },
    },
    'user_data.address[0].city',
    'user_data.address[0].postal_code',
  ),
  visitor(
    'visitor: no user data without the user id that Google asks for beside it',
    { identifiers: { ...JANE, external_id: null } },
    {},
    'user_data',
    'user_id',
  ),
  visitor(
    'visitor: an address of no name is left out',
    { identifiers: { email: JANE.email, external_id: JANE.external_id }, city: 'New York', country: 'US' },
    { user_data: { sha256_email_address: [JANE.email] } },
    'user_data.address',
  ),
  visitor(
    'visitor: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email, phone: JANE.phone, external_id: JANE.external_id }) },
    { user_data: { sha256_email_address: [JANE.email], sha256_phone_number: [JANE.phone] } },
  ),
  visitor(
    'visitor: taken in offline mode, without data or person',
    {
      mode: 'offline',
      identifiers: null,
      client_ip: null,
      client_user_agent: null,
      properties: { ...PAGE, client_id: '1.2' },
      person: personOf({ email: JANE.email, external_id: JANE.external_id }),
    },
    { client_id: '3414501396.583913858' },
    'user_id',
    'user_data',
    'ip_override',
    'user_agent',
  ),
  visitor(
    'visitor: browser and address',
    { client_ip: '2001:db8::1', client_user_agent: 'Agent/1.0' },
    { ip_override: '2001:db8::1', user_agent: 'Agent/1.0' },
    'user_location',
  ),
  withSettings(
    visitor(
      "visitor: the customer's place where the address is not told",
      { city: 'Portland', state: 'Oregon', country: 'US' },
      { user_location: { city: 'Portland', region_id: 'US-OR', country_id: 'US' } },
      'ip_override',
    ),
    { include_client_ip: 'no' },
  ),
  visitor(
    'visitor: user properties whose names GA4 takes',
    { properties: { ...PAGE, user_properties: { plan: 'pro', seats: 3, ga_x: 'no', user_id: 'no', list: [1] } } },
    { user_properties: { plan: { value: 'pro' }, seats: { value: 3 } } },
    'user_properties.ga_x',
    'user_properties.user_id',
    'user_properties.list',
  ),
  visitor(
    'consent: in words',
    { properties: { ...PAGE, consent: { ad_user_data: 'denied', ad_personalization: 'granted' } } },
    { consent: { ad_user_data: 'DENIED', ad_personalization: 'GRANTED' } },
  ),
  visitor(
    "consent: gtag's signal",
    { properties: { ...PAGE, gcs: 'G101' } },
    { consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' } },
  ),
  visitor('consent: nothing is declared', {}, {}, 'consent'),
  visitor(
    'consent: refused, so nothing that the person could be matched by',
    { identifiers: JANE, properties: { ...PAGE, consent: { ad_user_data: 0 }, client_id: '1.2' } },
    { consent: { ad_user_data: 'DENIED' }, client_id: '1.2', user_id: JANE.external_id },
    'user_data',
  ),
  visitor(
    'consent: measuring refused too, so nothing that says who it was',
    { identifiers: JANE, properties: { ...PAGE, gcs: 'G100', client_id: '1.2', user_properties: { plan: 'pro' } } },
    { client_id: '1942433966.3293301002', consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' } },
    'user_id',
    'user_data',
    'user_properties',
    'ip_override',
  ),
  withSettings(visitor('consent: declared by the site', {}, { consent: { ad_user_data: 'DENIED' } }, 'user_data'), {
    consent: 'denied',
  }),
];

const parameterCases: MappingCase[] = [
  sends(
    'whole: a purchase of the website',
    {
      event_id: 'order-9',
      properties: {
        $current_url: 'https://shop.example/thanks',
        $referrer: 'https://shop.example/checkout',
        page_title: 'Thanks',
        session_id: '1700000000',
        engagement_time_msec: 120,
        coupon: 'SPRING',
        shipping: 4.9,
        gift: true,
        items: [
          { item_id: 'A', item_name: 'Shirt', item_brand: 'Acme', item_category: 'Tops', price: 19.5, quantity: 2 },
        ],
      },
    },
    {
      name: 'purchase',
      timestamp_micros: (NOW_MS - 2_000) * 1000,
      params: {
        session_id: '1700000000',
        engagement_time_msec: 120,
        value: 49.9,
        currency: 'EUR',
        transaction_id: 'order-1',
        items: [
          { item_id: 'A', item_name: 'Shirt', item_brand: 'Acme', item_category: 'Tops', price: 19.5, quantity: 2 },
        ],
        page_location: 'https://shop.example/thanks',
        page_referrer: 'https://shop.example/checkout',
        page_title: 'Thanks',
        event_id: 'order-9',
        coupon: 'SPRING',
        shipping: 4.9,
        gift: 'true',
      },
    },
  ),
  sends(
    "items: all of GA4's parameters, and ten others",
    {
      properties: {
        ...PAGE,
        items: [
          {
            ...{
              item_id: '1',
              item_variant: 'red',
              coupon: 'X',
              discount: '2.5',
              item_list_name: 'L',
              item_list_id: 'l1',
            },
            ...{
              item_category2: 'C2',
              item_category5: 'C5',
              index: 3,
              affiliation: 'A',
              location_id: 'P',
              promotion_id: 'p',
            },
            ...{ promotion_name: 'P', creative_name: 'n', creative_slot: 's', nested: { no: 1 }, ga_own: 'no' },
            ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`own_${index}`, index])),
          },
        ],
      },
    },
    {
      params: {
        items: [
          {
            ...{
              item_id: '1',
              item_variant: 'red',
              coupon: 'X',
              discount: 2.5,
              item_list_name: 'L',
              item_list_id: 'l1',
            },
            ...{
              item_category2: 'C2',
              item_category5: 'C5',
              index: 3,
              affiliation: 'A',
              location_id: 'P',
              promotion_id: 'p',
            },
            ...{ promotion_name: 'P', creative_name: 'n', creative_slot: 's' },
            ...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`own_${index}`, index])),
          },
        ],
      },
    },
  ),
  sends(
    'items: other names go under those under which they are taken in',
    {
      properties: {
        ...PAGE,
        items: ALIASES.map(([alias, name]) => ({ [name === 'item_id' ? alias : 'item_id']: '1', [alias]: '4' })),
      },
    },
    {
      params: {
        items: ALIASES.map(([, name]) =>
          name === 'item_id' ? { item_id: '4' } : { item_id: '1', [name]: name === 'index' ? 4 : '4' },
        ),
      },
    },
  ),
  sends(
    "items: Segment's names, and half of an emoji is not sent",
    {
      properties: {
        ...PAGE,
        products: [{ product_id: 'p', variant: 'blue', position: 2, name: `${'a'.repeat(99)}😀` }],
      },
    },
    { params: { items: [{ item_id: 'p', item_variant: 'blue', index: 2, item_name: 'a'.repeat(99) }] } },
  ),
  sends(
    'params: an order without a number has its event id',
    { order_id: null, event_id: 'e-1' },
    { params: { transaction_id: 'e-1' } },
  ),
  sends('params: other events have none', { event: 'search', order_id: null }, {}, 'params.transaction_id'),
  sends('params: a session that is no number', { properties: { ...PAGE, session_id: 'abc' } }, {}, 'params.session_id'),
  sends(
    'params: a name that every object has is one like any other',
    { properties: { ...PAGE, constructor: 'Acme', valueOf: 3 } },
    { params: { constructor: 'Acme', valueOf: 3 } },
  ),
  sends(
    'params: texts are cut',
    { properties: { ...PAGE, note: 'n'.repeat(300) } },
    { params: { note: 'n'.repeat(100) } },
  ),
  sends(
    'params: the page address may be longer',
    { properties: { $current_url: `https://shop.example/${'p'.repeat(2_000)}` } },
    { params: { page_location: `https://shop.example/${'p'.repeat(979)}` } },
  ),
  sends(
    'params: names that GA4 does not take',
    {
      properties: {
        ...PAGE,
        $lib: 'x',
        google_x: 'y',
        ga_y: 'z',
        'with space': 1,
        list: [1],
        nested: { a: 1 },
        nothing: null,
      },
    },
    {},
    'params.$lib',
    'params.google_x',
    'params.ga_y',
    'params.with space',
    'params.list',
    'params.nested',
    'params.nothing',
  ),
  sends(
    'params: 25 at the most',
    { properties: { ...PAGE, ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, index])) } },
    { params: { p0: 0, p10: 10 } },
    'params.p30',
  ),
  sends(
    "params: no other platform's ids",
    { properties: { ...PAGE, fbp: 'fb.1.1.1', fbclid: 'x', ttclid: 'y' } },
    {},
    'params.fbp',
    'params.fbclid',
    'params.ttclid',
  ),
  sends(
    'time: nearly 72 hours ago',
    { timestamp: NOW_MS - 72 * HOUR_MS + 120_000 },
    { timestamp_micros: (NOW_MS - 72 * HOUR_MS + 120_000) * 1000 },
  ),
  skips('time: 72 hours ago', { timestamp: NOW_MS - 72 * HOUR_MS }, 'too_old'),
  sends(
    'time: a clock that runs ahead',
    { timestamp: NOW_MS + HOUR_MS, received_at: NOW_MS - 5_000 },
    { timestamp_micros: (NOW_MS - 5_000) * 1000 },
  ),
];

const sourceCases = (['physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const).map(
  (action_source) =>
    sends(`source: ${action_source}`, { action_source, properties: {} }, { name: 'purchase' }, 'params.page_location'),
);

export const ga4Cases: readonly MappingCase[] = [
  ...nameCases,
  ...nameRules,
  ...routeCases,
  ...visitorCases,
  ...parameterCases,
  ...sourceCases,
  sends(
    'parameters: no id of the visitor, no click of another platform, and nothing of what was agreed to',
    {
      properties: {
        ...PAGE,
        plan: 'pro',
        gclid: 'G-1',
        ...{ external_id: 'C-42', madid: 'm', lead_id: 7, userId: 'u', member_id: 'm', idfa: 'i' },
        ...{ fbclid: 'f', ttclid: 't', msclkid: 'm', twclid: 't', li_fat_id: 'l', epik: 'e', rdt_cid: 'r', ScCid: 's' },
        ...{ opt_out: 0, gcs: 'G111', data_processing_options: 'none', us_privacy: '1YNN', ad_storage: 'granted' },
      },
    },
    { params: { plan: 'pro', gclid: 'G-1' } },
    ...['external_id', 'madid', 'lead_id', 'userId', 'member_id', 'idfa'].map((name) => `params.${name}`),
    ...['fbclid', 'ttclid', 'msclkid', 'twclid', 'li_fat_id', 'epik', 'rdt_cid', 'ScCid'].map(
      (name) => `params.${name}`,
    ),
    ...['opt_out', 'gcs', 'data_processing_options', 'us_privacy', 'ad_storage'].map((name) => `params.${name}`),
  ),
  visitor(
    'visitor: no id of theirs as a user property',
    { properties: { ...PAGE, user_properties: { plan: 'pro', external_id: 'C-42', lead_id: 7 } } },
    { user_properties: { plan: { value: 'pro' } } },
    'user_properties.external_id',
    'user_properties.lead_id',
  ),
];
