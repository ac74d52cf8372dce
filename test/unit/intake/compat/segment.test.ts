import { expect, test } from 'vitest';
import { mapSegmentCall, type SegmentCall } from '#pipelines/intake/compat/segment.ts';
import type { Event } from '#schemas/event.ts';
import { browser, RECEIVED_AT_MS, server, take } from '#test/unit/intake/context.ts';

const ARRIVAL = { caller: 'browser', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;
const AT = '2026-11-10T11:59:58.000Z';

function eventsOf(
  call: object,
  type: SegmentCall | null = null,
  arrival = ARRIVAL as typeof ARRIVAL | object,
): object[] {
  const mapped = mapSegmentCall(call, type, { ...ARRIVAL, ...arrival });
  if (!mapped.ok) throw new Error(mapped.code);
  return [mapped.event as object];
}

/** The event as it is stored of a call. */
const takenOf = (call: object, arrival: object = {}): Event =>
  take(eventsOf(call, null, arrival)[0], browser({ isCrossOrigin: true, ...arrival }));

const base = { messageId: 'm1', timestamp: AT, userId: 'u1' };
const shared = { uuid: 'm1', timestamp: AT, distinct_id: 'u1' };

test.each([
  {
    call: { type: 'track', event: 'Order Completed', properties: { revenue: 12.5, order_id: 'o1' } },
    event: 'Order Completed',
    properties: { external_id: 'u1', revenue: 12.5, order_id: 'o1', value: 12.5 },
  },
  {
    call: { type: 'track', event: 'Seen', properties: { value: 1, revenue: 2 } },
    event: 'Seen',
    properties: { external_id: 'u1', value: 1, revenue: 2 },
  },
  {
    call: { type: 'page', name: 'Home', category: 'Start', properties: { url: 'https://a.example/' } },
    event: 'page_view',
    properties: { external_id: 'u1', name: 'Home', category: 'Start', url: 'https://a.example/' },
  },
  { call: { type: 'screen', name: 'Cart' }, event: 'screen_view', properties: { external_id: 'u1', name: 'Cart' } },
  {
    call: { type: 'identify', traits: { email: 'jane@example.com' } },
    event: '$identify',
    properties: { external_id: 'u1', $set: { email: 'jane@example.com' } },
  },
  {
    call: { type: 'group', groupId: 7, traits: { plan: 'pro' } },
    event: '$groupidentify',
    properties: { external_id: 'u1', $group_type: 'group', $group_key: '7', $group_set: { plan: 'pro' } },
  },
])('$call.type becomes $event', ({ call, event, properties }) => {
  expect(eventsOf({ ...base, ...call })).toEqual([{ ...shared, event, properties }]);
});

test('the type is the path’s where it has one', () => {
  expect(eventsOf({ ...base, type: 'identify', event: 'Seen' }, 'track')).toMatchObject([{ event: 'Seen' }]);
});

test('a call of an unknown type is refused', () => {
  expect(mapSegmentCall({ ...base, type: 'import' }, null, ARRIVAL)).toEqual({ ok: false, code: 'call_type_unknown' });
  expect(mapSegmentCall(base, null, ARRIVAL)).toEqual({ ok: false, code: 'call_type_unknown' });
});

test('without a user the anonymous id stands; numbers are ids too', () => {
  expect(eventsOf({ type: 'track', event: 'Seen', anonymousId: 'a1' })).toMatchObject([{ distinct_id: 'a1' }]);
  expect(eventsOf({ type: 'track', event: 'Seen', userId: 42 })).toMatchObject([{ distinct_id: '42' }]);
});

test('an identify with both ids, and an alias, say that two ids are one visitor, and are one event', () => {
  const link = (call: object) => {
    const { event, distinct_id, previous_distinct_id } = take(eventsOf({ ...base, ...call })[0], server());
    return [event, distinct_id, previous_distinct_id];
  };
  expect(link({ type: 'identify', anonymousId: 'a1' })).toEqual(['$identify', 'u1', 'a1']);
  expect(link({ type: 'identify', anonymousId: 7 })).toEqual(['$identify', 'u1', '7']);
  expect(link({ type: 'alias', userId: 'new', previousId: 'old' })).toEqual(['$create_alias', 'new', 'old']);
  expect(link({ type: 'identify', anonymousId: 'u1' })).toEqual(['$identify', 'u1', null]);
  expect(link({ type: 'track', event: 'Seen', anonymousId: 'a1' })).toEqual(['Seen', 'u1', null]);
});

test('the context is read where other tags have it', () => {
  const context = {
    page: { url: 'https://a.example/x', path: '/x', referrer: 'https://b.example/', title: 'T', search: '' },
    campaign: { source: 'nl', medium: 'mail', name: 'autumn', term: 't', content: 'c' },
    library: { name: '@segment/analytics-node', version: '3.1.0' },
    ip: '203.0.113.50',
    userAgent: 'Mozilla/5.0 Test',
    locale: 'de-DE',
    device: { type: 'phone' },
    traits: { email: 'jane@example.com' },
  };
  const [event] = eventsOf({ ...base, type: 'track', event: 'Seen', context, properties: { path: '/own' } });
  expect(event).toMatchObject({
    properties: {
      url: 'https://a.example/x',
      path: '/own',
      referrer: 'https://b.example/',
      title: 'T',
      utm_source: 'nl',
      utm_medium: 'mail',
      utm_campaign: 'autumn',
      utm_term: 't',
      utm_content: 'c',
      $lib: '@segment/analytics-node',
      $lib_version: '3.1.0',
      client_ip_address: '203.0.113.50',
      client_user_agent: 'Mozilla/5.0 Test',
      $set: { email: 'jane@example.com' },
      context: { locale: 'de-DE', device: { type: 'phone' } },
    },
  });
});

test('what RudderStack’s browser library says of the page and of the campaign is kept, and the event’s own word holds', () => {
  const page = {
    ...{ url: 'https://a.example/x', initial_referrer: 'https://b.example/', initial_referring_domain: 'b.example' },
    ...{ referring_domain: '$direct', tab_url: 'https://a.example/', title: '', own: 'page' },
  };
  const campaign = { id: '7', custom: 'c', source_platform: 'p', 'no name': 'x', ['__proto__x'.repeat(9)]: 'y' };
  const [event] = eventsOf({
    ...base,
    type: 'track',
    event: 'Seen',
    context: { page, campaign },
    properties: { own: 'call' },
  });
  const { title: _, ...said } = page;
  expect(event).toMatchObject({ properties: { ...said, own: 'call' } });
  expect(event).toMatchObject({ properties: { utm_id: '7', utm_custom: 'c', utm_source_platform: 'p' } });
  expect(Object.keys((event as { properties: object }).properties)).toHaveLength(10);
});

test('the sender’s clock is corrected by when it says to have sent', () => {
  const sentAtMs = RECEIVED_AT_MS - 3_600_000;
  const call = { ...base, type: 'track', event: 'Seen', timestamp: '2026-11-10T10:59:50.000Z' };
  const moved = { timestamp: Date.UTC(2026, 10, 10, 11, 59, 50), original_timestamp: call.timestamp };
  expect(takenOf(call, { sentAtMs })).toMatchObject(moved);
  const own = { ...call, originalTimestamp: call.timestamp, sentAt: '2026-11-10T11:00:00.000Z' };
  expect(takenOf(own)).toMatchObject(moved);
  expect(takenOf({ ...own, sentAt: 1_794_308_400 })).toMatchObject(moved);
  expect(takenOf({ ...call, timestamp: 1_794_308_390 }, { sentAtMs })).toMatchObject({
    timestamp: moved.timestamp,
    original_timestamp: '1794308390',
  });
  for (const sentAt of [0, 1e17, 2 ** 53, 1e300, {}, 'soon']) {
    expect(takenOf({ ...call, sentAt })).toMatchObject({
      timestamp: Date.parse(call.timestamp),
      original_timestamp: null,
    });
  }
});

test('a time that was given wins over the time of the call, and is kept to the millisecond', () => {
  const timestamp = '2026-03-01T08:30:00.123Z';
  const call = { ...base, type: 'track', event: 'Seen', timestamp, originalTimestamp: AT, sentAt: AT };
  for (const caller of ['server', 'browser']) {
    expect(takenOf(call, { caller, sentAtMs: RECEIVED_AT_MS - 312 })).toMatchObject({
      timestamp: Date.parse(timestamp),
    });
  }
});

test('a server’s times are kept to the millisecond', () => {
  const call = { ...base, type: 'track', event: 'Seen', timestamp: '2026-03-01T08:30:00.123Z' };
  const arrival = { caller: 'server', sentAtMs: RECEIVED_AT_MS - 312 };
  const kept = { timestamp: Date.parse(call.timestamp), original_timestamp: null };
  expect(takenOf(call, arrival)).toMatchObject(kept);
  const { timestamp: originalTimestamp, ...called } = call;
  expect(takenOf({ ...called, originalTimestamp, sentAt: AT }, arrival)).toMatchObject(kept);
});

test('a call without an id keeps its time, by which it is recognised when it comes again', () => {
  const call = { type: 'track', event: 'Seen', userId: 'u1', timestamp: '2026-11-10T10:59:50.000Z' };
  expect(takenOf(call, { sentAtMs: RECEIVED_AT_MS - 3_600_000 })).toMatchObject({
    timestamp: Date.parse(call.timestamp),
  });
});

test('traits are hashed and their names are gone', () => {
  const traits = { email: 'Jane@Example.com', name: 'Jane Doe', firstName: 'Jane', plan: 'pro' };
  const [event] = eventsOf({ ...base, type: 'identify', traits });
  const taken = take(event, server());
  expect(taken.identify).toBe(true);
  expect(taken.identifiers).toMatchObject({ email: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(JSON.parse(taken.properties)).toEqual({ external_id: 'u1', $set: { plan: 'pro' } });
});

test('what is no object goes on as it is', () => {
  expect(mapSegmentCall('call', null, ARRIVAL)).toEqual({ ok: true, event: 'call' });
  expect(eventsOf({ ...base, type: 'track', event: 'Seen', properties: 'text' })).toMatchObject([
    { properties: 'text' },
  ]);
});
