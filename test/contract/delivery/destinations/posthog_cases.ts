import { uuidOf } from '#pipelines/delivery/destinations/posthog/adapter.ts';
import { entryOf, NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import { caseBuilder, DAY_MS, definedAs, JANE, PAGE, skips, switchedOff, withSettings } from '../case_builders.ts';
import type { MappingCase } from '../subject.ts';

const { sends, names, sources } = caseBuilder((form) => ({ batch: [form] }), 'batch[0]');
const props = (properties: object): object => ({ properties });
const UUID = '0190a1b2-0000-7000-8000-000000000001';

const nameCases = names(
  [
    ['page_view', '$pageview'],
    ['page', '$pageview'],
    ['purchase', 'purchase'],
    ['Order Completed', 'Order Completed'],
    ['$identify', '$identify'],
    ['Quiz finished', 'Quiz finished'],
  ],
  (event) => ({ event }),
);

export const posthogCases: readonly MappingCase[] = [
  ...nameCases,
  ...sources({
    website: props({ action_source: 'website' }),
    physical_store: props({ action_source: 'physical_store' }),
    phone_call: props({ action_source: 'phone_call' }),
    chat: props({ action_source: 'chat' }),
    email: props({ action_source: 'email' }),
    system_generated: props({ action_source: 'system_generated' }),
  }),
  sends(
    'whole: a purchase',
    { event_id: UUID, properties: { ...PAGE, $referrer: 'https://shop.example/', plan: { name: 'pro' }, tags: ['a'] } },
    {
      event: 'purchase',
      uuid: UUID,
      distinct_id: 'visitor_1',
      timestamp: new Date(NOW_MS - 2_000).toISOString(),
      properties: {
        $current_url: PAGE.$current_url,
        $referrer: 'https://shop.example/',
        $ip: '203.0.113.7',
        $raw_user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
        $insert_id: UUID,
        action_source: 'website',
        value: 49.9,
        currency: 'EUR',
        order_id: 'order-1',
        plan: { name: 'pro' },
        tags: ['a'],
      },
    },
    'properties.$geoip_disable',
  ),
  sends(
    'id: one that is no UUID gives one, the same each time',
    { event_id: 'order-7' },
    { uuid: uuidOf('site_1', 'order-7') },
  ),
  sends(
    'person: hashes of what is known',
    { identifiers: { email: JANE.email }, person: personOf({ phone: JANE.phone, external_id: JANE.external_id }) },
    props({
      $set: { email_sha256: JANE.email, phone_sha256: JANE.phone, external_id_sha256: JANE.external_id },
    }),
  ),
  sends('person: nothing known', { identifiers: null }, {}, 'properties.$set'),
  sends(
    'person: none of an event taken in offline mode',
    { mode: 'offline', identifiers: null, client_ip: null, person: personOf({ email: JANE.email }) },
    props({ $process_person_profile: false, $geoip_disable: true }),
    'properties.$set',
    'properties.$ip',
  ),
  withSettings(
    sends('address: not where the site does not want it', {}, props({ $geoip_disable: true }), 'properties.$ip'),
    {
      include_client_ip: 'no',
    },
  ),
  sends(
    'value: what is absent is left out',
    { value: null, currency: null, order_id: null },
    {},
    'properties.value',
    'properties.currency',
    'properties.order_id',
  ),
  sends(
    'time: of any age',
    { timestamp: NOW_MS - 400 * DAY_MS },
    { timestamp: new Date(NOW_MS - 400 * DAY_MS).toISOString() },
  ),
  sends(
    'time: a clock that runs ahead',
    { timestamp: NOW_MS + DAY_MS, received_at: NOW_MS - 5_000 },
    { timestamp: new Date(NOW_MS - 5_000).toISOString() },
  ),
  withSettings(sends('chosen name', { event: 'quiz_done' }, { event: 'Quiz completed' }), {
    event_names: 'quiz_done=Quiz completed',
  }),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { event: 'Booked demo' }), 'Booked demo'),
  switchedOff('posthog'),
  skips('definition: switched off by another of its name', {}, 'not_in_destinations', {
    site: {
      event_definitions: [
        JSON.stringify({ id: 'd', name: 'purchase', trigger: 'click', destinations: { posthog: false } }),
      ],
    },
  }),
  {
    title: 'request: the key goes in the body',
    entry: entryOf(),
    expected: { form: { api_key: 'phc_good' }, path: '/batch/' },
  },
];
