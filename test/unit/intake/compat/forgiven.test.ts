import { expect, test } from 'vitest';
import { consentOf } from '#pipelines/events/consent.ts';
import { excludesDestination } from '#pipelines/events/vocabulary.ts';
import type { MappedCall } from '#pipelines/intake/compat/mapped_call.ts';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { mapSegmentCall, SEGMENT_CALLS, withContext } from '#pipelines/intake/compat/segment.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, RECEIVED_AT_MS, refusal, SECRET } from '#test/unit/intake/context.ts';

const ARRIVAL = { caller: 'browser', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;
const eventIn = (mapped: MappedCall): unknown => (mapped.ok ? mapped.event : mapped.code);
const segment = (call: object, context?: unknown): unknown =>
  eventIn(mapSegmentCall(withContext({ type: 'track', event: 'E', messageId: 'm', ...call }, context), null, ARRIVAL));
const posthog = (event: object): unknown => eventIn(mapPosthogEvent({ event: 'E', uuid: 'm', ...event }, ARRIVAL));
const measured = (body: object): unknown => {
  const read = readMeasurements({ client_id: 'u', events: [{ name: 'E' }], ...body }, SECRET);
  return read.ok ? read.events[0] : read.problem;
};
const foreign = browser({ isCrossOrigin: true });

function taken(sent: unknown) {
  const { taken: events, warned, rejected } = processBatch([sent], foreign);
  expect(rejected).toEqual([]);
  return { event: events[0], warned: warned.map(({ code }) => code) };
}

const EMPTY: unknown[] = [[], '', null];

test('an empty list where an object may stand is an empty object, in every protocol', () =>
  checkAll(EMPTY, (empty) => {
    const calls = [
      ...SEGMENT_CALLS.map((type) => segment({ type, userId: 'u', properties: empty, traits: empty, context: empty })),
      segment({ userId: 'u', integrations: empty }, empty),
      posthog({ distinct_id: 'u', properties: empty, $set: empty, $set_once: empty }),
      measured({ events: [{ name: 'E', params: empty }], user_properties: empty, user_data: empty, consent: empty }),
      { event: 'E', distinct_id: 'u', properties: empty },
    ];
    for (const call of calls) expect(taken(call)).toMatchObject({ event: { distinct_id: 'u' }, warned: [] });
    const group = segment({ type: 'group', userId: 'u', groupId: 'g', traits: [] });
    expect(group).toMatchObject({ properties: { $group_set: {} } });
    const said = { $destinations: empty, consent: empty, context: { consent: empty, consentManagement: empty } };
    expect(excludesDestination(said, 'meta')).toBe(false);
    expect(consentOf(said)).toEqual({
      ad_storage: null,
      ad_user_data: null,
      ad_personalization: null,
      analytics_storage: null,
    });
  }));

test('of what the event and its integrations say of destinations a no holds, and what cannot be read is one', () => {
  const goes = (call: object): string[] => {
    const { properties } = segment({ userId: 'u', ...call }) as { properties?: object };
    return ['meta', 'meta-eu', 'tiktok', 'webhook'].filter(
      (id) => !excludesDestination({ ...properties }, id, id.split('-')[0]),
    );
  };
  const integrations = { TikTok: false };
  expect(goes({ integrations })).toEqual(['meta', 'meta-eu', 'webhook']);
  expect(goes({ properties: { $destinations: { meta: false } }, integrations })).toEqual(['webhook']);
  expect(goes({ properties: { $destinations: { 'meta-eu': false } }, integrations })).toEqual(['meta', 'webhook']);
  expect(goes({ properties: { $destinations: { all: false } }, integrations })).toEqual([]);
  expect(goes({ properties: { $destinations: '{"all":false,"meta":true}' }, integrations })).toEqual([
    'meta',
    'meta-eu',
  ]);
  expect(goes({ properties: { $destinations: 'nonsense' }, integrations })).toEqual([]);
  expect(goes({ properties: { $destinations: { meta: true } }, integrations: { All: false, webhook: true } })).toEqual([
    'webhook',
  ]);
  const names = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`Other ${at}`, true]));
  for (const unread of ['{"All":false}', [{ All: false }], false, 'nonsense', { ...names, All: false }]) {
    expect(goes({ integrations: unread }), JSON.stringify(unread)).toEqual([]);
  }
  for (const open of [true, {}, [], '', null, '{}']) expect(goes({ integrations: open })).toHaveLength(4);
});

test('a list that holds something is no object', () => {
  for (const sent of [segment({ properties: [1] }), posthog({ properties: ['a'] }), { event: 'E', properties: [[]] }]) {
    expect(refusal(sent, foreign)).toBe('properties_not_object');
  }
});

test('an id with control characters is no placeholder that many have, and such a placeholder no id', () => {
  const previous = (name: string, property: string, id: string) =>
    taken(posthog({ event: name, distinct_id: 'u', properties: { [property]: id } }));
  for (const id of ['undefined\u0000', '\u0000', 'null\u0001\n']) {
    const { event } = taken(posthog({ uuid: id, distinct_id: id }));
    expect(event?.event_id).toBe(taken(posthog({ uuid: null, distinct_id: id })).event?.event_id);
    expect(event?.distinct_id).toMatch(/^anon_/);
    for (const [name, property] of [
      ['$identify', '$anon_distinct_id'],
      ['$create_alias', 'alias'],
      ['$merge_dangerously', 'alias'],
    ] as const)
      expect(previous(name, property, id).event?.previous_distinct_id).toBeNull();
  }
  expect(previous('$identify', '$anon_distinct_id', 'undefined\u0000').warned).toContain('placeholder_id');
  expect(previous('$identify', '$anon_distinct_id', 'a\u0000b').event?.previous_distinct_id).toBe(
    pseudonym('a\u0000b', SECRET),
  );
});

const NO_IDS: unknown[] = [false, true, {}, { id: 7 }, [7], Infinity];

test('an id that is neither text nor number is none: another stands in, and it is warned about', () =>
  checkAll(NO_IDS, (id) => {
    for (const sent of [
      segment({ userId: id, anonymousId: 'a' }),
      segment({ userId: 'a', anonymousId: id, type: 'identify' }),
      posthog({ distinct_id: 'a', properties: { $anon_distinct_id: id }, event: '$identify' }),
      measured({ client_id: 'a', user_id: id }),
      measured({ client_id: id, user_id: 'a' }),
    ]) {
      expect(taken(sent).event).toMatchObject({ distinct_id: 'a', previous_distinct_id: null });
    }
    for (const sent of [
      segment({ userId: id, anonymousId: 'a' }),
      segment({ userId: 'a', messageId: id }),
      posthog({ distinct_id: id }),
      posthog({ distinct_id: 'a', uuid: id }),
      measured({ client_id: 'a', user_id: id }),
    ]) {
      expect(taken(sent)).toMatchObject({ event: { event: 'E' }, warned: ['placeholder_id'] });
    }
    expect(taken(segment({ userId: [], anonymousId: 'a' }))).toMatchObject({ event: { distinct_id: 'a' }, warned: [] });
  }));

const LONG = 'eyJhbGciOi'.repeat(25);

test('an id that is too long, or on two lines, is a keyed hash wherever it stands, and is warned about', () =>
  checkAll([LONG, 'a\nb', `${LONG}\u0000`], (id) => {
    const hashed = pseudonym(id.trim(), SECRET);
    const named = [segment({ userId: id }), posthog({ distinct_id: id }), measured({ client_id: id })];
    for (const sent of [...named, posthog({ properties: { distinct_id: id } })]) {
      expect(taken(sent)).toMatchObject({ event: { distinct_id: hashed }, warned: ['id_too_long'] });
    }
    for (const sent of [segment({ userId: 'a', messageId: id }), posthog({ distinct_id: 'a', uuid: id })]) {
      expect(taken(sent)).toMatchObject({ event: { event_id: hashed }, warned: ['id_too_long'] });
    }
    for (const sent of [
      segment({ type: 'alias', userId: 'a', previousId: id }),
      segment({ type: 'identify', userId: 'a', anonymousId: id }),
      posthog({ event: '$create_alias', distinct_id: 'a', properties: { alias: id } }),
    ]) {
      expect(taken(sent).event).toMatchObject({ distinct_id: 'a', previous_distinct_id: hashed });
    }
    expect(refusal({ event: 'E', distinct_id: id })).toBe('distinct_id_invalid');
    expect(refusal({ event: 'E', uuid: id })).toBe('uuid_invalid');
  }));

test.each([
  ['Order\nCompleted', 'Order Completed'],
  [404, '404'],
  ['x'.repeat(201), 'x'.repeat(200)],
  [`${'x'.repeat(190)} jane@shop.example`, `${'x'.repeat(190)} redacted`],
])('the name %j is %j', (sent, name) => {
  for (const call of [segment({ event: sent, userId: 'u' }), posthog({ event: sent })]) {
    expect(taken(call).event?.event).toBe(name);
  }
});

test('an id of blanks is none', () => {
  const sent = [segment({ userId: ' ', anonymousId: 'a' }), measured({ client_id: 'a', user_id: ' ' })];
  for (const one of sent) expect(taken(one).event?.distinct_id).toBe('a');
  expect(taken(posthog({ distinct_id: ' ', uuid: ' ' })).event?.distinct_id).toMatch(/^anon_/);
});
