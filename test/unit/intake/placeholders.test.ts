import { expect, test } from 'vitest';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { mapSegmentCall } from '#pipelines/intake/compat/segment.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { eventOfMetaHit, eventOfTiktokHit } from '#pipelines/intake/pixels.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { Event } from '#schemas/event.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, CHROME, RANDOM_ID, RECEIVED_AT_MS, SECRET, server } from './context.ts';

const ARRIVAL = { caller: 'browser', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;

/** What is taken of an event, and whether it is warned about. */
function taken(event: unknown, context = browser()): { event: Event; isWarned: boolean } {
  const {
    taken: [one],
    warned,
  } = processBatch([event], context);
  if (one === undefined) throw new Error('not taken');
  expect(warned.every(({ index, code }) => index === 0 && code === 'placeholder_id')).toBe(true);
  return { event: one, isWarned: warned.length === 1 };
}

const own = (event: object) => event;
const segment = (call: object) => {
  const mapped = mapSegmentCall({ messageId: 'm', ...call }, null, ARRIVAL);
  return mapped.ok ? mapped.event : mapped.code;
};
const posthog = (event: object) => {
  const mapped = mapPosthogEvent(event, ARRIVAL);
  return mapped.ok ? mapped.event : mapped.code;
};
const ga4 = (fields: Record<string, string>) =>
  eventsOfHits([{ index: 0, text: '', fields: new Map(Object.entries({ en: 'purchase', ...fields })) }], {
    caller: 'browser',
    secret: SECRET,
  })[0];
const measured = (body: object) => {
  const read = readMeasurements({ events: [{ name: 'purchase' }], ...body }, SECRET);
  return read.ok ? read.events[0] : read.problem;
};
const meta = (fields: Record<string, string>) =>
  eventOfMetaHit({ index: 0, text: '', fields: new Map(Object.entries({ ev: 'Purchase', ...fields })) }, {
    visitor: null,
    secret: SECRET,
  } as never);
const tiktok = (user: object) =>
  eventOfTiktokHit({ event: 'Purchase', context: { user } }, { visitor: null, secret: SECRET } as never);

/** What JSON makes of 7461234567890123457, and of 7461234567890123458 as well. */
const ROUNDED = JSON.parse('7461234567890123457') as number;

/** The visitor that is known: `anon` is the derived one. */
const ROWS: [protocol: string, sent: unknown, visitor: string][] = [
  ['own', own({ event: 'purchase', distinct_id: 'undefined' }), 'anon'],
  ['own', own({ event: 'purchase', distinct_id: ' NULL ', properties: { external_id: 'undefined' } }), 'anon'],
  ['own', own({ event: 'purchase', distinct_id: 'u1', properties: { external_id: 0 } }), 'u1'],
  ['own', own({ event: 'purchase', distinct_id: 'u1', properties: { user_data: { external_id: ['null'] } } }), 'u1'],
  ['own', own({ event: '$identify', distinct_id: 'u1', properties: { $anon_distinct_id: '[object Object]' } }), 'u1'],
  ['own', own({ event: '$identify', distinct_id: 'u1', properties: { $anon_distinct_id: 0 } }), 'u1'],
  ['the tag', own({ event: '$identify', distinct_id: 'undefined', properties: { $anon_distinct_id: 'a1' } }), 'a1'],
  ['own', own({ event: '$create_alias', distinct_id: 'undefined', properties: { alias: 'u2' } }), 'anon'],
  ['own', own({ event: '$create_alias', distinct_id: 'u1', properties: { alias: 'NaN' } }), 'u1'],
  ['own', own({ event: '$merge_dangerously', distinct_id: 'u1', properties: { alias: 'guest' } }), 'u1'],
  ['segment', segment({ type: 'track', event: 'E', userId: 'undefined', anonymousId: 'a1' }), 'a1'],
  ['segment', segment({ type: 'track', event: 'E', userId: 0, anonymousId: 'a1' }), 'a1'],
  ['segment', segment({ type: 'track', event: 'E', userId: 'null', anonymousId: 'undefined' }), 'anon'],
  ['segment', segment({ type: 'track', event: 'E', anonymousId: 'undefined' }), 'anon'],
  ['segment', segment({ type: 'identify', userId: 'null', anonymousId: 'a1' }), 'a1'],
  ['segment', segment({ type: 'identify', userId: 'u1', anonymousId: 'undefined' }), 'u1'],
  ['segment', segment({ type: 'alias', userId: 'u1', previousId: '[object Object]' }), 'u1'],
  ['posthog', posthog({ event: 'E', distinct_id: 'anonymous' }), 'anon'],
  ['posthog', posthog({ event: '$identify', distinct_id: 'u1', properties: { $anon_distinct_id: '"null"' } }), 'u1'],
  ['posthog', posthog({ event: '$identify', distinct_id: 'null', properties: { $anon_distinct_id: 'a1' } }), 'a1'],
  ['ga4', ga4({ cid: '1.2', uid: 'undefined' }), '1.2'],
  ['ga4', ga4({ cid: '(not set)' }), 'anon'],
  ['ga4', ga4({ cid: 'undefined', uid: 'u1' }), 'u1'],
  ['measurement protocol', measured({ client_id: '1.2', user_id: '(not set)' }), '1.2'],
  ['measurement protocol', measured({ client_id: 'undefined' }), 'anon'],
  ['measurement protocol', measured({ client_id: 'null', user_id: 'u1' }), 'u1'],
  ['meta', meta({ fbp: 'undefined', 'ud[external_id]': 'undefined' }), 'anon'],
  [
    'meta',
    meta({ fbp: 'fb.1.1.1', 'ud[external_id]': 'eb045d78d273107348b0300c01d29b7552d622abbc6faf81b3ec55359aa9950c' }),
    'fb.1.1.1',
  ],
  ['tiktok', tiktok({ anonymous_id: 'undefined', external_id: 'null' }), 'anon'],
  ['own', own({ event: 'purchase', distinct_id: 'u1', properties: { external_id: ROUNDED } }), 'u1'],
  ['own', own({ event: 'purchase', distinct_id: 'u1', properties: { user: { external_id: [ROUNDED] } } }), 'u1'],
  ['own', own({ event: '$identify', distinct_id: 'u1', properties: { $anon_distinct_id: ROUNDED } }), 'u1'],
  ['own', own({ event: 'purchase', distinct_id: 'u1', properties: { order_id: ROUNDED } }), 'u1'],
  ['segment', segment({ type: 'identify', userId: ROUNDED, anonymousId: 'a1' }), 'a1'],
  ['segment', segment({ type: 'track', event: 'E', userId: 'u1', messageId: ROUNDED }), 'u1'],
  ['segment', segment({ type: 'alias', userId: 'u1', previousId: ROUNDED }), 'u1'],
  ['posthog', posthog({ event: '$identify', distinct_id: ROUNDED }), 'anon'],
  ['measurement protocol', measured({ client_id: '1.2', user_id: ROUNDED }), '1.2'],
  ['tiktok', tiktok({ anonymous_id: ROUNDED, external_id: ROUNDED }), 'anon'],
];

test('a placeholder is nobody, whatever protocol it came by: its event is kept and warned about', () =>
  checkAll(ROWS, ([, sent, visitor]) => {
    const { event, isWarned } = taken(sent);
    expect([event.distinct_id.replace(/^anon_.*/, 'anon'), event.previous_distinct_id]).toEqual([visitor, null]);
    expect([event.identifiers?.external_id ?? null, isWarned]).toEqual([sentExternalId(event, visitor), true]);
  }));

/** A protocol that gives the user's id as the customer's number does so of a real one. */
function sentExternalId({ properties }: Event, visitor: string): unknown {
  return (JSON.parse(properties) as { external_id?: unknown }).external_id === visitor ? expect.any(String) : null;
}

test('the hash of nothing is no address and no number, and is warned about', () => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  const properties = { email: empty, phone: [empty], first_name: empty };
  const { event, isWarned } = taken({ event: 'purchase', distinct_id: 'u1', properties });
  expect([event.identifiers, event.further_identifiers, isWarned]).toEqual([null, undefined, true]);
});

test('a number that was rounded is no id of an order or an event', () => {
  const purchase = (parameters: object) =>
    taken(measured({ client_id: '1.2', events: [{ name: 'purchase', params: parameters }] }), server()).event;
  expect(taken({ event: 'purchase', properties: { order_id: ROUNDED } }).event.order_id).toBeNull();
  expect(purchase({ transaction_id: ROUNDED, event_id: ROUNDED })).toMatchObject({
    order_id: null,
    event_id: RANDOM_ID,
  });
  expect(purchase({ transaction_id: 'T-1', event_id: ROUNDED })).toMatchObject({ event_id: 'T-1' });
  for (const event_id of [ROUNDED, 'undefined']) {
    const hit = { event: 'Purchase', event_id, message_id: 'm-1' };
    const sent = eventOfTiktokHit(hit, { visitor: null, secret: SECRET } as never);
    expect(taken(sent).event.event_id).toBe('m-1');
  }
  expect(taken({ event: 'purchase', properties: { order_id: 2 ** 53 - 1 } })).toMatchObject({
    event: { order_id: '9007199254740991' },
    isWarned: false,
  });
});

test('a name that programs write in place of one is none, nor is such a place', () => {
  for (const nothing of ['null', 'undefined', ' NULL ', 'NaN', '(not set)', '-', 'n/a', '{{ first_name }}', '0']) {
    const places = { city: nothing, state: nothing, zip: nothing, country: nothing };
    const properties = { first_name: nothing, user_data: { ln: nothing, ...places }, client_user_agent: nothing };
    const { event } = taken({ event: 'purchase', distinct_id: 'u1', properties }, server({ userAgent: CHROME }));
    const { identifiers, city, state, zip, country, client_user_agent } = event;
    const said = [identifiers, city, state, zip, country, client_user_agent];
    expect(said, nothing).toEqual([null, null, null, null, null, CHROME]);
  }
  for (const name of ['Null', 'Nan', 'Nil', 'Guest', 'Na', 'True', 'Ng', 'X'])
    expect(
      taken({ event: 'purchase', properties: { last_name: name } }).event.identifiers?.last_name,
      name,
    ).toBeTruthy();
});

test('an event with ids of somebody is not warned about', () => {
  const properties = { external_id: 'c1', $anon_distinct_id: 'a1' };
  expect(taken({ event: 'purchase', distinct_id: 'u1', properties })).toMatchObject({
    event: { distinct_id: 'u1', previous_distinct_id: 'a1', identifiers: { external_id: expect.any(String) } },
    isWarned: false,
  });
  expect(taken({ event: 'purchase' }).isWarned).toBe(false);
});

test('a server’s sale with a placeholder is its customer’s, as one without an id is', () => {
  const sale = (email: string) => ({ event: 'purchase', distinct_id: 'undefined', properties: { email } });
  const ids = ['a@a.example', 'b@b.example'].map((email) => taken(sale(email), server()).event.distinct_id);
  expect(new Set(ids).size).toBe(2);
  expect(ids.every((id) => id.startsWith('anon_'))).toBe(true);
});

test("visitors of PostHog's cookieless mode are told apart by address and user agent, and are joined to nobody", () => {
  const cookieless = '$posthog_cookieless';
  const properties = { distinct_id: cookieless, $cookieless_mode: true };
  const visits = [
    browser(),
    browser({ clientIp: '198.51.100.9' }),
    browser({ userAgent: CHROME.replace('126', '125') }),
  ];
  const visited = visits.map((context) => taken(posthog({ event: '$pageview', properties }), context));
  const without = visits.map((context) => taken(posthog({ event: '$pageview' }), context).event.distinct_id);
  expect(visited.map(({ event }) => event.distinct_id)).toEqual(without);
  expect(new Set(without).size).toBe(3);
  expect(visited.map(({ isWarned }) => isWarned)).toEqual([false, false, false]);

  const identify = (distinct_id: string, $anon_distinct_id: string) =>
    taken(posthog({ event: '$identify', distinct_id, properties: { $cookieless_mode: true, $anon_distinct_id } }));
  expect(identify('u1', cookieless)).toMatchObject({
    event: { distinct_id: 'u1', previous_distinct_id: null },
    isWarned: false,
  });
  expect(identify(cookieless, 'a1')).toMatchObject({
    event: { distinct_id: without[0], previous_distinct_id: null, identifiers: null },
    isWarned: false,
  });
});

const PLACEHOLDERS = [
  'undefined',
  'NULL',
  'NaN',
  '[object Object]',
  '{{ order.id }}',
  '00000000-0000-0000-0000-000000000000',
];

test.each(PLACEHOLDERS)('two events with the id %s are two, and are warned about', (uuid) => {
  const at = '2026-10-10T10:00:00Z';
  const [one, other] = ['u1', 'u2'].map((distinct_id) =>
    taken({ event: 'purchase', uuid, distinct_id, timestamp: at }, server()),
  );
  expect([one?.isWarned, other?.isWarned]).toEqual([true, true]);
  expect(one?.event.event_id).not.toBe(other?.event.event_id);
  // Sent again it is the same one.
  expect(taken({ event: 'purchase', uuid, distinct_id: 'u1', timestamp: at }, server()).event.event_id).toBe(
    one?.event.event_id,
  );
});

test.each(PLACEHOLDERS)('an order with the id %s has none', (order_id) => {
  expect(taken({ event: 'purchase', uuid: 'a1', properties: { order_id } }).event.order_id).toBeNull();
});

/** So that each event without an id of its own has another. */
function counting(): { randomEventId(): string } {
  let count = 0;
  return { randomEventId: () => `made-${count++}` };
}

test.each(['undefined', '(not set)', '0'])('purchases of GA4 with the transaction %s are as many', (transaction) => {
  const context = server(counting());
  const params = { transaction_id: transaction };
  const ids = ['u1', 'u2'].map((client_id) => {
    const event = measured({ client_id, events: [{ name: 'purchase', params }] });
    return taken(event, context).event.event_id;
  });
  expect(ids).toEqual(['made-0', 'made-1']);
  const fields = { cid: 'c', _s: '1', 'ep.event_id': 'undefined', 'ep.transaction_id': transaction };
  const hits = ['1', '2'].map((_p) => ga4({ ...fields, _p })?.['uuid']);
  expect(new Set(hits).size).toBe(2);
});

test('what Segment’s and PostHog’s libraries send as an event’s id that is none makes no copies', () => {
  const context = server(counting());
  const calls = ['u1', 'u2'].map((userId) =>
    segment({ type: 'track', event: 'Order Completed', userId, messageId: 'undefined' }),
  );
  const events = ['u1', 'u2'].map((distinct_id) => posthog({ event: 'x', distinct_id, uuid: 'null' }));
  const ids = [...calls, ...events].map((event) => taken(event, context).event.event_id);
  expect(new Set(ids).size).toBe(4);
});
