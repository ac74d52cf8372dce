import { NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import {
  caseBuilder,
  DAY_MS,
  definedAs,
  hash,
  JANE,
  PAGE,
  skips,
  switchedOff,
  withSettings,
} from '../case_builders.ts';
import type { MappingCase } from '../subject.ts';

const { sends, names, sources } = caseBuilder((form) => ({ data: { events: [form] } }), 'data.events[0]');
const OFFLINE = { action_source: 'OFFLINE' };

const nameCases = names(
  [
    ['page_view', 'PAGE_VISIT'],
    ['view_item', 'VIEW_CONTENT'],
    ['view_item_list', 'VIEW_CONTENT'],
    ['Products Searched', 'SEARCH'],
    ['add_to_cart', 'ADD_TO_CART'],
    ['add_to_wishlist', 'ADD_TO_WISHLIST'],
    ['Order Completed', 'PURCHASE'],
    ['generate_lead', 'LEAD'],
    ['Signed Up', 'SIGN_UP'],
  ],
  (tracking_type) => ({ type: { tracking_type } }),
);

const custom = names(
  [
    ['begin_checkout', 'begin_checkout'],
    ['refund', 'refund'],
    ['subscribe', 'subscribe'],
    ['Quiz finished', 'Quiz finished'],
    ['x'.repeat(100), 'x'.repeat(64)],
    [`${'x'.repeat(63)}😀`, 'x'.repeat(63)],
  ],
  (custom_event_name) => ({ type: { tracking_type: 'CUSTOM', custom_event_name } }),
);

export const redditCases: readonly MappingCase[] = [
  ...nameCases,
  ...custom,
  withSettings(sends('chosen name: as the pixel has it', { event: 'quiz' }, { type: { tracking_type: 'SIGN_UP' } }), {
    event_names: 'quiz=SignUp',
  }),
  withSettings(sends('chosen name: as the API has it', { event: 'quiz' }, { type: { tracking_type: 'LEAD' } }), {
    event_names: 'quiz=LEAD',
  }),
  withSettings(
    sends(
      'chosen name: a custom one',
      { event: 'quiz' },
      { type: { tracking_type: 'CUSTOM', custom_event_name: 'Quizzed' } },
    ),
    { event_names: 'quiz=Quizzed' },
  ),
  definedAs(
    sends('definition: names the conversion', { event: 'cta' }, { type: { tracking_type: 'LEAD' } }),
    'generate_lead',
  ),
  switchedOff('reddit'),
  ...sources({
    website: { action_source: 'WEBSITE' },
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
      properties: {
        ...PAGE,
        rdt_cid: 'click-1',
        _rdt_uuid: '1700000000.uuid',
        items: [{ item_id: 'A', item_name: 'Shirt', item_category: 'Tops', price: 19.5, quantity: 2 }],
      },
    },
    {
      event_at: NOW_MS - 2_000,
      action_source: 'WEBSITE',
      type: { tracking_type: 'PURCHASE' },
      click_id: 'click-1',
      user: {
        email: JANE.email_stripped,
        phone_number: JANE.phone,
        external_id: JANE.external_id,
        ip_address: hash('203.0.113.7'),
        user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
        uuid: '1700000000.uuid',
      },
      metadata: {
        conversion_id: 'order-9',
        value: 49.9,
        currency: 'EUR',
        item_count: 2,
        products: [{ id: 'A', name: 'Shirt', category: 'Tops' }],
      },
    },
    'user.data_processing_options',
  ),
  sends(
    'user: an e-mail whose variants are one',
    { identifiers: { email: JANE.email } },
    { user: { email: JANE.email } },
  ),
  sends(
    "user: a person's e-mail without dots and plus",
    { identifiers: null, person: personOf({ email: JANE.email, email_stripped: JANE.email_stripped }) },
    { user: { email: JANE.email_stripped } },
  ),
  sends(
    'click: from the page address is enough',
    { identifiers: null, client_ip: null, properties: { $current_url: 'https://shop.example/?rdt_cid=C1' } },
    {
      click_id: 'C1',
    },
  ),
  skips('user: nothing to match by', { identifiers: null, client_ip: null }, 'insufficient_user_data'),
  sends(
    'limited data use: by the event',
    { country: 'US', properties: { ...PAGE, data_processing_options: ['LDU'] } },
    {
      user: { data_processing_options: { modes: ['LDU'], country: 'US' } },
    },
  ),
  withSettings(sends('limited data use: by the site', {}, { user: { data_processing_options: { modes: ['LDU'] } } }), {
    limited_data_use: 'yes',
  }),
  sends(
    'time: nearly 7 days ago',
    { timestamp: NOW_MS - 7 * DAY_MS + 120_000 },
    { event_at: NOW_MS - 7 * DAY_MS + 120_000 },
  ),
  skips('time: 7 days ago', { timestamp: NOW_MS - 7 * DAY_MS }, 'too_old'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
];
