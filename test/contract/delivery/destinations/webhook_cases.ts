import { messageId } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { entryOf, NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import type { MappingCase } from '../subject.ts';

const ISO = new Date(NOW_MS - 2_000).toISOString();
const sent = (data: object, ...without: string[]): MappingCase['expected'] => ({
  form: { data },
  without: without.map((key) => `data.${key}`),
});

const sources = ['website', 'physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const;

export const webhookCases: readonly MappingCase[] = [
  {
    title: 'the envelope of Standard Webhooks',
    entry: entryOf({ event_id: 'e-1' }),
    expected: { form: { type: 'event', id: messageId('webhook', 'site_1', ['e-1']), timestamp: ISO } },
  },
  {
    title: 'who and when',
    entry: entryOf({ event_id: 'e-1' }),
    expected: sent({
      event_id: 'e-1',
      event: 'purchase',
      site_id: 'site_1',
      distinct_id: 'visitor_1',
      timestamp: ISO,
      received_at: new Date(NOW_MS - 1_000).toISOString(),
      mode: 'online',
    }),
  },
  {
    title: 'value, currency and order',
    entry: entryOf(),
    expected: sent({ value: 49.9, currency: 'EUR', order_id: 'order-1' }),
  },
  {
    title: 'what is absent is left out',
    entry: entryOf({ value: null, currency: null, order_id: null }),
    expected: sent({}, 'value', 'currency', 'order_id', 'person_id'),
  },
  ...sources.map(
    (action_source): MappingCase => ({
      title: `source: ${action_source}`,
      entry: entryOf({ action_source }),
      expected: sent({ action_source }),
    }),
  ),
  {
    title: 'identifiers as hashes, named as such',
    entry: entryOf({ identifiers: { email: 'a1'.repeat(32), phone: 'b2'.repeat(32), phone_digits: 'c3'.repeat(32) } }),
    expected: sent(
      { identifiers: { email_sha256: 'a1'.repeat(32), phone_sha256: 'b2'.repeat(32) } },
      'identifiers.external_id_sha256',
    ),
  },
  {
    title: 'identifiers known of the person',
    entry: entryOf({ identifiers: null, person: personOf({ email: 'd4'.repeat(32) }) }),
    expected: sent({ person_id: 'person_1', identifiers: { email_sha256: 'd4'.repeat(32) } }),
  },
  {
    title: 'properties as they are',
    entry: entryOf({ properties: { a: { b: [1, 'x'] } } }),
    expected: sent({ properties: { a: { b: [1, 'x'] } } }),
  },
  {
    title: 'place',
    entry: entryOf({ city: 'Paris', country: 'FR' }),
    expected: sent({ place: { city: 'Paris', country: 'FR' } }, 'place.zip'),
  },
  { title: 'no address of the visitor by default', entry: entryOf(), expected: sent({}, 'client_ip_address') },
  {
    title: 'the address of the visitor when the site asks for it',
    entry: entryOf(),
    settings: { include_client_ip: 'yes' },
    expected: sent({ client_ip_address: '203.0.113.7' }),
  },
  {
    title: 'the conversion it stands for',
    entry: entryOf({ event: 'Order Completed' }),
    expected: sent({ event: 'Order Completed', conversion_event: 'purchase' }),
  },
  {
    title: 'no conversion for a name of its own',
    entry: entryOf({ event: 'Quiz finished' }),
    expected: sent({ event: 'Quiz finished' }, 'conversion_event'),
  },
  {
    title: 'an old event, of any age',
    entry: entryOf({ timestamp: NOW_MS - 400 * 86_400_000 }),
    expected: sent({ timestamp: new Date(NOW_MS - 400 * 86_400_000).toISOString() }),
  },
  {
    title: 'an event taken in offline mode, without its person',
    entry: entryOf({
      mode: 'offline',
      identifiers: null,
      client_ip: null,
      client_user_agent: null,
      person: personOf({ email: 'e5'.repeat(32) }),
    }),
    expected: sent({ mode: 'offline', identifiers: {} }, 'person_id', 'client_user_agent'),
  },
  {
    title: 'a list, where the site asks for one',
    entry: entryOf({ event_id: 'e-2' }),
    settings: { batch_events_max: '20' },
    expected: { form: { type: 'events', data: [{ type: 'event', data: { event_id: 'e-2' } }] } },
  },
  {
    title: 'switched off in the event definition',
    entry: entryOf(),
    site: {
      event_definitions: [
        JSON.stringify({ id: 'd', name: 'purchase', trigger: 'click', destinations: { webhook: false } }),
      ],
    },
    expected: { skip: 'not_in_destinations' },
  },
];
