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
const OFFLINE = { action_source: 'OFFLINE' };

const nameCases = names(
  [
    ['page_view', 'PAGE_VIEW'],
    ['Product Viewed', 'VIEW_CONTENT'],
    ['view_item_list', 'LIST_VIEW'],
    ['search', 'SEARCH'],
    ['add_to_cart', 'ADD_CART'],
    ['add_to_wishlist', 'ADD_TO_WISHLIST'],
    ['begin_checkout', 'START_CHECKOUT'],
    ['add_payment_info', 'ADD_BILLING'],
    ['Order Completed', 'PURCHASE'],
    ['generate_lead', 'SIGN_UP'],
    ['sign_up', 'SIGN_UP'],
    ['subscribe', 'SUBSCRIBE'],
    ['start_trial', 'START_TRIAL'],
  ],
  (event_name) => ({ event_name }),
);

export const snapchatCases: readonly MappingCase[] = [
  ...nameCases,
  skips('name: none for a refund', { event: 'refund' }, 'no_platform_event'),
  skips("name: none for an event of the site's own", { event: 'Quiz finished' }, 'no_platform_event'),
  withSettings(
    sends('name: what the site wants others to go as', { event: 'refund' }, { event_name: 'CUSTOM_EVENT_2' }),
    {
      custom_event: 'CUSTOM_EVENT_2',
    },
  ),
  withSettings(sends('chosen name', { event: 'contact' }, { event_name: 'RESERVE' }), {
    event_names: 'contact=RESERVE',
  }),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { event_name: 'SIGN_UP' }), 'Lead'),
  switchedOff('snapchat'),
  ...sources({
    website: { action_source: 'WEB', event_source_url: PAGE.$current_url },
    physical_store: OFFLINE,
    phone_call: OFFLINE,
    chat: OFFLINE,
    email: OFFLINE,
    system_generated: OFFLINE,
  }),
  sends('source: no page of an offline event', { action_source: 'chat' }, {}, 'event_source_url'),
  sends(
    'whole: a purchase of the website',
    {
      event_id: 'order-9',
      identifiers: JANE,
      city: 'New York',
      state: 'New York',
      zip: '10001',
      country: 'US',
      properties: {
        ...PAGE,
        ScCid: 'click-1',
        _scid: 'cookie-1',
        items: [{ item_id: 'A', item_brand: 'Acme', price: 19.5, quantity: 2 }],
      },
    },
    {
      event_name: 'PURCHASE',
      event_time: NOW_MS / 1000 - 2,
      event_id: 'order-9',
      action_source: 'WEB',
      user_data: {
        em: [JANE.email],
        ph: [JANE.phone_digits],
        fn: JANE.first_name,
        ln: JANE.last_name,
        external_id: [JANE.external_id],
        ct: hash('newyork'),
        st: hash('ny'),
        zp: hash('10001'),
        country: hash('us'),
        client_ip_address: '203.0.113.7',
        client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
        sc_click_id: 'click-1',
        sc_cookie1: 'cookie-1',
      },
      custom_data: {
        value: 49.9,
        currency: 'EUR',
        order_id: 'order-1',
        contents: [{ id: 'A', brand: 'Acme', item_price: 19.5, quantity: 2 }],
        content_ids: ['A'],
        num_items: 2,
      },
    },
    'data_processing_options',
  ),
  sends(
    'user: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email }) },
    {
      user_data: { em: [JANE.email] },
    },
  ),
  sends(
    'user: address and browser are enough',
    { identifiers: null },
    { user_data: { client_ip_address: '203.0.113.7' } },
    'user_data.em',
  ),
  skips('user: an address alone is not', { identifiers: null, client_user_agent: null }, 'insufficient_user_data'),
  sends(
    'click: from the page address',
    { properties: { $current_url: 'https://shop.example/?ScCid=AbC-1' } },
    {
      user_data: { sc_click_id: 'AbC-1' },
    },
  ),
  sends(
    'search: what was looked for',
    { event: 'search', properties: { ...PAGE, query: 'shoes' } },
    {
      custom_data: { search_string: 'shoes' },
    },
  ),
  sends(
    'limited data use: by the event',
    { properties: { ...PAGE, data_processing_options: ['LDU'] } },
    { data_processing_options: ['LMU'] },
  ),
  withSettings(sends('limited data use: by the site', {}, { data_processing_options: ['LMU'] }), {
    limited_data_use: 'yes',
  }),
  sends('time: 36 days ago', { timestamp: NOW_MS - 36 * DAY_MS }, { event_time: NOW_MS / 1000 - 36 * 86_400 }),
  skips('time: 37 days ago', { timestamp: NOW_MS - 37 * DAY_MS }, 'too_old'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
  sends('nothing else of the properties', { properties: { ...PAGE, note: 'x' } }, {}, 'custom_data.note'),
  sends(
    'user: several addresses, numbers and forms of a customer number',
    { identifiers: JANE, further_identifiers: MORE_OF_JANE },
    {
      user_data: {
        em: [JANE.email, MORE_OF_JANE[0]?.email],
        ph: [JANE.phone_digits, MORE_OF_JANE[1]?.phone_digits],
        external_id: [JANE.external_id, MORE_OF_JANE[2]?.external_id],
      },
    },
  ),
];
