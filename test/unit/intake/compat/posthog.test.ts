import { expect, test } from 'vitest';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { browser, RECEIVED_AT_MS, server, take } from '#test/unit/intake/context.ts';

const ARRIVAL = { caller: 'browser', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;
const UUID = '01a1fcd7-39fb-72e2-9358-3ad5b6cf06f6';
const AT = '2026-11-10T11:59:58.000Z';

function eventsOf(event: object, arrival: object = {}): object[] {
  const mapped = mapPosthogEvent(event, { ...ARRIVAL, ...arrival });
  if (!mapped.ok) throw new Error(mapped.code);
  return [mapped.event as object];
}

test('a server library’s event', () => {
  const properties = { $lib: 'posthog-node', $current_url: 'https://a.example/' };
  expect(eventsOf({ event: 'Seen', uuid: UUID, distinct_id: 'p1', timestamp: AT, properties })).toEqual([
    { event: 'Seen', uuid: UUID, distinct_id: 'p1', timestamp: AT, properties },
  ]);
});

test('the browser library’s event has its ids among the properties, and its time as an age', () => {
  const properties = { token: 'svc_pk_x', distinct_id: 'p1', $insert_id: 'i1', path: '/x' };
  expect(eventsOf({ event: '$pageview', offset: 1_500, properties, $set: { plan: 'pro' } })).toEqual([
    {
      event: '$pageview',
      uuid: 'i1',
      distinct_id: 'p1',
      timestamp: new Date(RECEIVED_AT_MS - 1_500).toISOString(),
      properties: { $set: { plan: 'pro' }, path: '/x' },
    },
  ]);
});

test('what an event says of its person beside its properties joins what it says among them', () => {
  const among = { $set: { plan: 'pro', tier: 1 }, $set_once: [] };
  const beside = { $set: { email: 'jane@example.com', tier: 2 }, $set_once: { first: 'x' } };
  expect(eventsOf({ event: 'Seen', uuid: UUID, properties: among, ...beside })).toMatchObject([
    { properties: { $set: { plan: 'pro', tier: 2, email: 'jane@example.com' }, $set_once: { first: 'x' } } },
  ]);
  expect(eventsOf({ event: 'Seen', uuid: UUID, properties: among })).toMatchObject([{ properties: among }]);
});

test('an $identify and an alias say that two ids are one visitor, and are one event', () => {
  const properties = { $anon_distinct_id: 'a1', $set: { email: 'jane@example.com' }, $lib: 'web' };
  const identified = eventsOf({ event: '$identify', uuid: UUID, distinct_id: 'u1', properties });
  expect(identified).toMatchObject([{ event: '$identify', uuid: UUID, properties: { external_id: 'u1' } }]);
  expect(take(identified[0], server())).toMatchObject({ distinct_id: 'u1', previous_distinct_id: 'a1' });
  const aliased = { event: '$create_alias', uuid: UUID, distinct_id: 'p1', properties: { alias: 'p2' } };
  expect(take(eventsOf(aliased)[0], server())).toMatchObject({ distinct_id: 'p1', previous_distinct_id: 'p2' });
});

test('the sender’s clock is corrected', () => {
  const sentAtMs = RECEIVED_AT_MS - 3_600_000;
  const event = { event: 'Seen', uuid: UUID, timestamp: '2026-11-10T10:59:50.000Z' };
  expect(take(eventsOf(event, { sentAtMs })[0], browser({ isCrossOrigin: true }))).toMatchObject({
    timestamp: Date.UTC(2026, 10, 10, 11, 59, 50),
    original_timestamp: event.timestamp,
  });
});

test('a server’s times are kept to the millisecond, and so are those that say they are right', () => {
  const sentAtMs = RECEIVED_AT_MS - 187;
  const event = { event: 'Seen', uuid: UUID, timestamp: '2024-12-31T23:59:59.123Z' };
  const kept = { timestamp: Date.parse(event.timestamp), original_timestamp: null };
  expect(take(eventsOf(event, { caller: 'server', sentAtMs })[0], server({ isCrossOrigin: true }))).toMatchObject(kept);
  const right = { ...event, properties: { $ignore_sent_at: true } };
  expect(take(eventsOf(right, { sentAtMs })[0], browser({ isCrossOrigin: true }))).toMatchObject(kept);
});

test('what a person’s record says is hashed and gone', () => {
  const properties = { $set: { email: 'jane@example.com', name: 'Jane Doe' }, $ip: '203.0.113.50' };
  const [event] = eventsOf({ event: '$identify', uuid: UUID, distinct_id: 'u1', properties });
  const taken = take(event, server());
  expect(taken).toMatchObject({
    identify: true,
    client_ip: '203.0.113.50',
    identifiers: { email: expect.any(String) },
  });
  expect(JSON.parse(taken.properties)).toEqual({ external_id: 'u1' });
});

test('what is no event goes on as it is', () => {
  expect(mapPosthogEvent(7, ARRIVAL)).toEqual({ ok: true, event: 7 });
  expect(eventsOf({ event: 'Seen', properties: [1] })).toEqual([{ event: 'Seen', properties: [1] }]);
});
