import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  ACTION_SOURCES,
  CONSENT_STATES,
  type Event,
  eventBytesBound,
  type Identifiers,
  writeEvent,
} from '#schemas/event.ts';
import { decodeEvent, encodeEvent, eventBatchType } from '#schemas/event_batch.ts';
import { cases } from '#test/harness/environment.ts';
import { sampleEvent } from './sample_event.ts';

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 90 }), fc.string({ maxLength: 300 }));
const maybe = fc.option(text, { nil: null });
const time = fc.integer({ min: -(2 ** 45), max: 2 ** 45 });
const identifiers: fc.Arbitrary<Identifiers> = fc.record({
  email: maybe,
  email_google: maybe,
  email_stripped: maybe,
  phone: maybe,
  phone_digits: maybe,
  first_name: maybe,
  first_name_google: maybe,
  last_name: maybe,
  last_name_google: maybe,
  external_id: maybe,
});
const events: fc.Arbitrary<Event> = fc.record({
  site_id: text,
  event_id: text,
  distinct_id: text,
  received_at: time,
  event: text,
  timestamp: time,
  original_timestamp: maybe,
  mode: fc.constantFrom('online' as const, 'offline' as const),
  action_source: fc.constantFrom(...ACTION_SOURCES),
  caller: fc.constantFrom('browser' as const, 'server' as const),
  identify: fc.boolean(),
  identifiers: fc.option(identifiers, { nil: null }),
  city: maybe,
  state: maybe,
  zip: maybe,
  country: maybe,
  client_ip: maybe,
  client_user_agent: maybe,
  value: fc.option(fc.double({ noNaN: true }), { nil: null }),
  currency: maybe,
  order_id: maybe,
  properties: text,
  further_identifiers: fc.array(identifiers, { maxLength: 3 }),
  previous_distinct_id: maybe,
  key_id: maybe,
  consent: fc.option(
    fc.record({
      ad_storage: fc.constantFrom(...CONSENT_STATES),
      analytics_storage: fc.constantFrom(...CONSENT_STATES),
      ad_user_data: fc.constantFrom(...CONSENT_STATES),
      ad_personalization: fc.constantFrom(...CONSENT_STATES),
      limited_data_use: fc.option(fc.boolean(), { nil: null }),
      gpc: fc.boolean(),
    }),
    { nil: null },
  ),
  historical: fc.boolean(),
});

/** What the schema library makes of the event: the entry's last field in a batch of one. */
function libraryBytes(event: Event): Buffer {
  const body = eventBatchType.toBuffer({ events: [{ coordinate: null, person: null, event }] });
  const [countBytes, branchBytes, endBytes] = [1, 2, 1];
  return body.subarray(countBytes + branchBytes, body.length - endBytes);
}

it('writes the bytes that the schema library writes', () => {
  fc.assert(
    fc.property(events, (event) => {
      const buffer = Buffer.alloc(eventBytesBound(event));
      const end = writeEvent(buffer, 0, event);
      expect(Buffer.compare(buffer.subarray(0, end), libraryBytes(event))).toBe(0);
    }),
    { numRuns: cases(500) },
  );
});

it('is what encodeEvent uses, and grows for a large event', () => {
  const event = sampleEvent({ properties: JSON.stringify({ text: 'ü'.repeat(200_000) }) });
  expect(decodeEvent(encodeEvent(event))).toEqual(event);
});
