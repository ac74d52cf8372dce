import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { prepare } from '#pipelines/delivery/deliver.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { Arrival, MappedCall } from '#pipelines/intake/compat/mapped_call.ts';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { mapSegmentCall, SEGMENT_CALLS, withContext } from '#pipelines/intake/compat/segment.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { readSentAt } from '#pipelines/intake/timestamp.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { entryOf, NOW_MS, siteOf } from '#test/unit/delivery/entries.ts';
import { browser, RECEIVED_AT_MS, SECRET, server } from './context.ts';

/** What JSON can hold that has no text, or breaks who asks for one: whoever writes an event may put it anywhere. */
const NO_TEXT: unknown = JSON.parse(
  '{"toString":"x","valueOf":1,"toJSON":"x","trim":1,"length":1e9,"then":1,"constructor":1,"__proto__":{"toString":1}}',
);
const HOSTILE = [NO_TEXT, [NO_TEXT, [NO_TEXT]]];

/** Every name that the folder's code could read a member by: it stands there in quotes, or behind a point. */
function namesIn(...folders: string[]): string[] {
  const files = folders.flatMap((folder) => globSync(`pipelines/${folder}/**/*.ts`));
  const words = files.flatMap((file) => readFileSync(file, 'utf8').match(/(?<=['.])[$A-Za-z_][\w$]{1,40}\b/g) ?? []);
  return [...new Set(words)].toSorted();
}

const withMember = (object: object, name: string, value: unknown): object => ({ ...object, [name]: value });
const each = (names: readonly string[], check: (name: string, value: unknown) => void): Promise<void> =>
  checkAll(names, (name) => {
    for (const value of HOSTILE) check(name, value);
  });

const INTAKE = namesIn('intake', 'privacy');
const CALLERS = [browser({ isCrossOrigin: true }), server({ isCrossOrigin: true })];

function takeAll(events: readonly unknown[]): void {
  for (const context of CALLERS) processBatch(events, context);
}

test('no value of an event breaks its intake, wherever it stands', () =>
  each(INTAKE, (name, value) => {
    const event = { event: 'purchase', uuid: 'u1', distinct_id: 'd1', timestamp: '2026-11-10T11:00:00Z' };
    const member = { [name]: value };
    const held = [member, { items: [member] }, { context: member }, { user_data: member }, { $set: member }];
    takeAll([
      { ...event, ...member },
      { event: 'e', ...member },
      ...held.map((properties) => ({ ...event, properties })),
    ]);
  }));

/** The event of a call, taken as it would be of any caller. */
function takeCall(map: (arrival: Arrival) => MappedCall, sentAt: unknown): void {
  for (const context of CALLERS) {
    const { caller } = context;
    const mapped = map({ caller, receivedAtMs: RECEIVED_AT_MS, sentAtMs: readSentAt(sentAt) });
    if (mapped.ok) processBatch([mapped.event], context);
  }
}

test('no value of a call of Segment’s breaks it', () =>
  each(INTAKE, (name, value) => {
    const call = { messageId: 'm1', userId: 'u1', event: 'e', timestamp: '2026-11-10T11:00:00Z', [name]: value };
    const context = { page: { [name]: value }, campaign: { [name]: value }, [name]: value };
    const whole = { ...call, context, properties: { [name]: value }, traits: { [name]: value } };
    for (const type of SEGMENT_CALLS)
      takeCall((arrival) => mapSegmentCall(withContext(whole, context), type, arrival), value);
    takeCall((arrival) => mapSegmentCall(withContext(call, value), null, arrival), value);
  }));

test('no value of an event of PostHog’s breaks it', () =>
  each(INTAKE, (name, value) => {
    const member = { [name]: value };
    const event = { event: 'e', uuid: 'u1', distinct_id: 'd1', timestamp: '2026-11-10T11:00:00Z', ...member };
    for (const sent of [event, { ...event, properties: { ...member, $set: member } }]) {
      takeCall((arrival) => mapPosthogEvent(sent, arrival), value);
    }
  }));

test('no value of a measurement breaks it', () =>
  each(INTAKE, (name, value) => {
    const member = { [name]: value };
    const params = { transaction_id: 't1', ...member, items: [member] };
    const person = { user_data: { ...member, address: [member] }, user_properties: member, user_location: member };
    const events = [
      { name: 'purchase', params },
      { name: 'e', ...member },
    ];
    for (const body of [
      { client_id: 'c1', events, ...person },
      { client_id: 'c1', events, ...person, ...member },
    ]) {
      const read = readMeasurements(body, SECRET);
      if (read.ok) takeAll(read.events);
    }
  }));

/** With these each destination makes a form of the event. */
const SETTINGS = {
  ...{
    pixel_id: '12345',
    pixel_code: 'C0DE',
    measurement_id: 'G-1',
    ad_account_id: '1',
    customer_id: '123',
    url: 'https://a.example/',
  },
  ...{ batch_events_max: '1', route: 'server' },
};
const PROPERTIES = {
  ...{ value: 5, currency: 'EUR', order_id: 'o1', content_ids: ['a'], items: [{ item_id: 'a', price: 5 }] },
  ...{ url: 'https://shop.example/?gclid=1', fbclid: 'x', ttclid: 'x', gclid: 'x', li_fat_id: 'x' },
};

test.each(DESTINATIONS.map((adapter) => [adapter.name, adapter] as const))('no value breaks %s', (_, adapter) => {
  // GA4 takes no name that begins with a digit, LinkedIn no other.
  const settings = adapter.name === 'ga4' ? SETTINGS : { ...SETTINGS, event_names: 'purchase=111' };
  const prepared = (properties: object): string => {
    const entry = entryOf({ properties: { ...properties }, identifiers: { email: 'a'.repeat(64) } });
    const result = prepare({ adapter, id: adapter.name, settings, rules: [] }, siteOf(), entry, NOW_MS);
    return result.kind === 'mapped' ? JSON.stringify(result.form) && result.kind : result.reason;
  };
  expect(prepared(PROPERTIES)).toBe('mapped');
  return each(namesIn('delivery'), (name, value) => {
    prepared(withMember(PROPERTIES, name, value));
    prepared({ ...PROPERTIES, items: [{ [name]: value }], contents: [{ [name]: value }], page: { [name]: value } });
    for (const place of ['context', 'consent', 'consentManagement'])
      prepared({ ...PROPERTIES, [place]: { [name]: value } });
  });
});
