import { expect, test } from 'vitest';
import { itemsOf } from '#pipelines/delivery/event_fields.ts';
import { consentOf } from '#pipelines/events/consent.ts';
import { conversionName } from '#pipelines/events/vocabulary.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { HIT_CHARACTERS_MAX, HIT_KEYS_MAX, HITS_MAX, readHits } from '#pipelines/intake/ga4/hits.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, SECRET, server } from '#test/unit/intake/context.ts';
import { COLLECT_CASES, type CollectCase } from './cases.ts';

const DIGEST = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function eventsOf(query: string, body = '', caller: CollectCase['caller'] = 'browser'): JsonObject[] {
  const read = readHits(query, body);
  if (!read.ok) throw new Error(read.problem);
  return eventsOfHits(read.hits, { caller, secret: SECRET });
}

const uuidsOf = (query: string, body = ''): unknown[] => eventsOf(query, body).map(({ uuid }) => uuid);

test('there are at least 60 requests', () => {
  expect(COLLECT_CASES.length).toBeGreaterThanOrEqual(60);
});

test('hits become the events that their cases say', () =>
  checkAll(COLLECT_CASES, ({ query, body, caller, events }) => {
    const expected = events.map((event) =>
      event['uuid'] === 'digest' ? { ...event, uuid: expect.stringMatching(DIGEST) } : event,
    );
    expect(eventsOf(query, body, caller)).toStrictEqual(expected);
  }));

const identified = COLLECT_CASES.filter(({ identifiers }) => identifiers !== undefined);

test('a visitor is known by what each case sends', () =>
  checkAll(identified, ({ query, body, identifiers = {} }) => {
    const { taken } = processBatch(eventsOf(query, body), browser());
    expect(taken[0]?.identifiers).toMatchObject(identifiers);
  }));

test('a request that is sent again has the same ids, and each of its hits another', () => {
  const query = 'tid=G-SHOP1&cid=1.2&_p=7&_s=3';
  const body = 'en=a\r\nen=a\r\nen=b';
  const ids = uuidsOf(query, body);
  expect(new Set(ids).size).toBe(3);
  expect(uuidsOf(query, body)).toEqual(ids);
});

test.each([
  ['another site', 'tid=G-SHOP2&cid=1.2&_p=7&_s=3'],
  ['another visitor', 'tid=G-SHOP1&cid=1.3&_p=7&_s=3'],
  ['another page', 'tid=G-SHOP1&cid=1.2&_p=8&_s=3'],
  ['a later hit', 'tid=G-SHOP1&cid=1.2&_p=7&_s=4'],
])('the same line of %s is another event', (_, query) => {
  expect(uuidsOf(query, 'en=a')).not.toEqual(uuidsOf('tid=G-SHOP1&cid=1.2&_p=7&_s=3', 'en=a'));
});

test.each(['_p=7', '_s=3'])('of equal lines that say no more of their place than %s each is an event', (place) => {
  expect(uuidsOf(`tid=G-SHOP1&cid=1.2&${place}`, 'en=click')).toEqual([undefined]);
});

test('of one event id in a request the first name keeps it, and each other name has an id of its own', () => {
  const body = ['view_item', 'shop_view', 'view_item', 'other'].map((name) => `en=${name}&ep.event_id=e-1`).join('\n');
  const ids = uuidsOf('tid=G-SHOP1&cid=1.2&_p=7&_s=3', body);
  const digest: unknown = expect.stringMatching(DIGEST);
  expect(ids).toEqual(['e-1', digest, 'e-1', digest]);
  expect(new Set(ids).size).toBe(3);
  expect(uuidsOf('tid=G-SHOP1&cid=1.2&_p=7&_s=3', body)).toEqual(ids);
});

test('a user and the client beside are two ids of one visitor', () => {
  const [event] = processBatch(eventsOf('cid=1.2&uid=u7&en=login&_p=1'), browser()).taken;
  expect(event).toMatchObject({ distinct_id: 'u7', previous_distinct_id: '1.2', identify: true });
});

test('the address that a keyed server states is its visitor’s', () => {
  const events = eventsOf('cid=1.2&en=a&_p=1&_uip=203.0.113.77', '', 'server');
  expect(processBatch(events, server()).taken[0]?.client_ip).toBe('203.0.113.77');
});

test('a body of more lines than a request may have events is refused', () => {
  const lines = (count: number) => Array.from({ length: count }, () => 'en=a').join('\r\n');
  expect(readHits('', lines(HITS_MAX))).toMatchObject({ ok: true });
  const list = (values: number): string => `up.a=${encodeURIComponent(JSON.stringify(Array(values).fill(0)))}`;
  expect(readHits(list(300), lines(HITS_MAX))).toMatchObject({ ok: true });
  expect(readHits(list(500), lines(HITS_MAX))).toEqual({ ok: false, problem: 'parameters_too_many' });
  expect(readHits('', lines(HITS_MAX + 1))).toEqual({ ok: false, problem: 'hits_too_many' });
});

test('a hit of too many keys, or too long, is refused', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=1`).join('&');
  expect(readHits(keys(HIT_KEYS_MAX), '')).toMatchObject({ ok: true });
  expect(readHits(keys(HIT_KEYS_MAX + 1), '')).toEqual({ ok: false, problem: 'hit_too_large' });
  expect(readHits('', `en=${'a'.repeat(HIT_CHARACTERS_MAX)}`)).toEqual({ ok: false, problem: 'hit_too_large' });
});

const parameters = (kind: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${kind}${at}=1`).join('&');
const itemOf = (count: number) => Array.from({ length: count }, (_, at) => `k${at % 10}name${at}~v0x`).join('~');
const jsonOf = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 1])));
const jsonIn = (text: string) => JSON.stringify({ inner: text });
const linesOf = (count: number, line: string) => Array.from({ length: count }, () => line).join('\n');
const TOO_MANY = { ok: false, problem: 'parameters_too_many' };

test('a hit has at most 200 of everything that can be many', () =>
  checkAll(
    [
      ['parameters', parameters('ep.a', 200), parameters('ep.a', 201)],
      ['properties of the user', parameters('up.a', 200), parameters('up.a', 201)],
      ['names in an item', `pr1=${itemOf(200)}`, `pr1=${itemOf(201)}`],
      ['names in a value that is JSON', `ep.a=${jsonOf(199)}`, `ep.a=${jsonOf(200)}`],
      ['names in JSON in JSON', `ep.a=${jsonIn(jsonOf(198))}`, `ep.a=${jsonIn(jsonOf(199))}`],
      ['names in a list', `ep.a=[${jsonOf(199)},${jsonOf(199)}]`, `ep.a=[${jsonOf(100)},${jsonOf(200)}]`],
    ],
    ([, most, tooMany]) => {
      expect(readHits('', most)).toMatchObject({ ok: true });
      expect(readHits('', tooMany)).toEqual(TOO_MANY);
    },
  ));

test('a request has at most 2,000 parameters, and those of its query count for each line', () => {
  expect(readHits('', linesOf(10, parameters('ep.a', 200)))).toMatchObject({ ok: true });
  expect(readHits('', linesOf(11, parameters('ep.a', 200)))).toEqual(TOO_MANY);
  expect(readHits(parameters('ep.a', 41), linesOf(50, 'en=a'))).toEqual(TOO_MANY);
  expect(readHits(parameters('a', 101), linesOf(50, 'en=a'))).toEqual(TOO_MANY);
});

test('a purchase is delivered with its items, and under the consent of its hit', () => {
  const query = 'en=purchase&_p=1&cid=1.2&pr1=id1~nmShirt~pr10~qt2&pr2=id2~pr5&gcs=G101&gcd=11t1t1q1t5';
  const [event] = processBatch(eventsOf(query), browser()).taken;
  const properties = JSON.parse(event?.properties ?? '') as JsonObject;
  expect(conversionName(event?.event ?? '').canonical).toBe('purchase');
  expect(itemsOf(properties)).toMatchObject([
    { id: '1', name: 'Shirt', price: 10, quantity: 2 },
    { id: '2', price: 5 },
  ]);
  expect(consentOf(properties)).toEqual({
    ad_storage: false,
    ad_user_data: false,
    ad_personalization: false,
    analytics_storage: true,
  });
});
