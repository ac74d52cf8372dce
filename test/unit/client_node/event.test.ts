import { expect, test } from 'vitest';
import type { ConversionName, EventInput, OfflineSource } from '#clients/node/src/client.ts';
import { readEntry, writeEvent, writeOffline, writePerson } from '#clients/node/src/event.ts';
import { uuid7 } from '#clients/node/src/runtime.ts';
import { CANONICAL_NAMES, type CanonicalName } from '#pipelines/events/vocabulary.ts';
import { ACTION_SOURCES, type ActionSource } from '#schemas/event.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10);
const write = (input: unknown) => writeEvent(input as EventInput, NOW_MS, () => 'made');

function writtenOf(outcome: ReturnType<typeof write>) {
  if (!outcome.ok) throw new Error(outcome.code);
  expect(outcome.entry.bytes).toBe(Buffer.byteLength(outcome.entry.json));
  return readEntry(outcome.entry);
}

/** The compiler sees to it that both are the same. */
const names: readonly ConversionName[] = CANONICAL_NAMES;
const sameNames: (name: ConversionName) => CanonicalName = (name) => name;
const sources: readonly (OfflineSource | 'website')[] = ACTION_SOURCES;
const sameSources: (source: OfflineSource | 'website') => ActionSource = (source) => source;

test.for(names)('%s is suggested, and known to the service', (name) => {
  expect(CANONICAL_NAMES).toContain(sameNames(name));
});

test.for(sources.filter((source) => source !== 'website'))('an offline event says %s', (actionSource) => {
  const event = writtenOf(
    writeOffline({ event: 'purchase', actionSource, properties: { value: 1 } }, NOW_MS, () => 'u'),
  );
  expect(event.properties).toEqual({ value: 1, $action_source: sameSources(actionSource) });
});

test('an offline event says where it was', () => {
  const unknown = { event: 'purchase', actionSource: 'website' as OfflineSource };
  expect(writeOffline(unknown, NOW_MS, () => 'u')).toEqual({ ok: false, code: 'action_source_invalid' });
});

test('an event has an id and the time when it was tracked', () => {
  expect(writtenOf(write({ event: 'purchase' }))).toEqual({
    event: 'purchase',
    uuid: 'made',
    timestamp: '2026-11-20T10:00:00.000Z',
    properties: {},
  });
});

test('what is said stands', () => {
  const said = {
    event: 'e',
    uuid: 'order-1',
    distinctId: 'me',
    timestamp: '2026-11-01T08:30+02:00',
    properties: { a: 1 },
  };
  expect(writtenOf(write(said))).toEqual({
    event: 'e',
    uuid: 'order-1',
    distinct_id: 'me',
    timestamp: '2026-11-01T08:30+02:00',
    properties: { a: 1 },
  });
});

test.for([new Date(NOW_MS - 1), NOW_MS - 1, '2026-11-20T09:59:59.999Z'])('%s is a time', (timestamp) => {
  expect(writtenOf(write({ event: 'e', timestamp })).timestamp).toBe('2026-11-20T09:59:59.999Z');
});

test('the shopper fills in what the event does not say', () => {
  const shopper = { distinctId: 'cookie', ip: '203.0.113.1', userAgent: 'Firefox' };
  expect(writtenOf(write({ event: 'e', shopper }))).toMatchObject({
    distinct_id: 'cookie',
    properties: { client_ip_address: '203.0.113.1', client_user_agent: 'Firefox' },
  });
  const properties = { client_ip_address: '203.0.113.2' };
  expect(writtenOf(write({ event: 'e', distinctId: 'user', shopper, properties }))).toMatchObject({
    distinct_id: 'user',
    properties: { client_ip_address: '203.0.113.2', client_user_agent: 'Firefox' },
  });
});

test('a person is identified with the id that they had before', () => {
  const person = (input: Parameters<typeof writePerson>[0]) => writtenOf(writePerson(input, NOW_MS, () => 'u'));
  const properties = { email: 'me@example.com' };
  expect(person({ distinctId: 'user', properties, shopper: { distinctId: 'cookie' } })).toMatchObject({
    event: '$identify',
    distinct_id: 'user',
    properties: { email: 'me@example.com', $anon_distinct_id: 'cookie' },
  });
  expect(person({ distinctId: 'same', anonymousId: 'same' }).properties).toEqual({});
  expect(writePerson({ distinctId: '' }, NOW_MS, () => 'u')).toEqual({ ok: false, code: 'distinct_id_invalid' });
});

test('what a database gives is taken: integers of any size, and null for nothing', () => {
  const nothing = { uuid: null, distinctId: null, timestamp: null, shopper: null };
  const properties = { order_id: 2n ** 63n - 1n, value: 12n, items: [{ quantity: -3n }], coupon: null };
  expect(writtenOf(write({ event: 'e', ...nothing, properties }))).toEqual({
    event: 'e',
    uuid: 'made',
    timestamp: '2026-11-20T10:00:00.000Z',
    properties: { order_id: '9223372036854775807', value: 12, items: [{ quantity: -3 }], coupon: null },
  });
  expect(writtenOf(write({ event: 'e', properties: null })).properties).toEqual({});
});

test.for([
  [undefined, 'event_invalid'],
  [[], 'event_invalid'],
  [{}, 'event_name_invalid'],
  [{ event: ' ' }, 'event_name_invalid'],
  [{ event: 'a'.repeat(201) }, 'event_name_invalid'],
  [{ event: 'a\nb' }, 'event_name_invalid'],
  [{ event: 'e', uuid: '' }, 'uuid_invalid'],
  [{ event: 'e', uuid: 7 }, 'uuid_invalid'],
  [{ event: 'e', distinctId: 7 }, 'distinct_id_invalid'],
  [{ event: 'e', timestamp: 'yesterday' }, 'timestamp_invalid'],
  [{ event: 'e', timestamp: 'Nov 20, 2026' }, 'timestamp_invalid'],
  [{ event: 'e', timestamp: new Date(Number.NaN) }, 'timestamp_invalid'],
  [{ event: 'e', timestamp: Number.POSITIVE_INFINITY }, 'timestamp_invalid'],
  [{ event: 'e', timestamp: {} }, 'timestamp_invalid'],
  [{ event: 'e', properties: [] }, 'properties_invalid'],
  [{ event: 'e', properties: 'a' }, 'properties_invalid'],
  [{ event: 'e', value: 12.5 }, 'event_field_unknown'],
  [{ event: 'e', distinct_id: 'me' }, 'event_field_unknown'],
  [{ event: 'e', properties: { value: Number.NaN } }, 'value_invalid'],
  [{ event: 'e', properties: { text: 'ä'.repeat(131_100) } }, 'event_too_large'],
] as const)('case %#: it is refused as %s', ([input, code]) => {
  expect(write(input)).toEqual({ ok: false, code });
});

test('an id made of time and chance is a UUID of version 7, in order of time', () => {
  const random = new Uint8Array(16).fill(0xff);
  expect(uuid7(NOW_MS, random)).toBe('01a1f866-0d00-7fff-bfff-ffffffffffff');
  expect(uuid7(NOW_MS + 1, new Uint8Array(16)) > uuid7(NOW_MS, random)).toBe(true);
});
