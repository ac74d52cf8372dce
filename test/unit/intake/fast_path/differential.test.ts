import { expect, test } from 'vitest';
import { beginRequest, type IntakeContext } from '#pipelines/intake/call.ts';
import { ScannedEvent, scanBody } from '#pipelines/intake/fast_path/scan_body.ts';
import { takeScanned } from '#pipelines/intake/fast_path/take_scanned.ts';
import { processBatch, readEnvelope } from '#pipelines/intake/take_event.ts';
import * as keyWords from '#pipelines/privacy/key_words.ts';
import { encodeEvents } from '#schemas/event_batch.ts';
import type { Site } from '#schemas/setting.ts';
import { parseJson } from '#services/edge/body.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { chanceOf } from '#test/harness/hostile/random.ts';
import { browser, server, siteWith } from '../context.ts';
import {
  bodyText,
  CONSENTS,
  FOREIGN_DIGITS,
  hostileBody,
  KEYS,
  NESTED_CONSENTS,
  NUMBERS,
  PLAIN,
  usualEvent,
} from './bodies.ts';

const EVENTS_MAX = 50;
const BODIES = 4_000;
const BODIES_OF_FUZZ = 1_000_000;
const FUZZ_MS_MAX = 30 * 60_000;
const isFuzz = cases(1) > 1;

const BLOCK_RULES: Site['block_rules'] = [
  { kind: 'ip', value: '192.0.2.0/24', property: null },
  { kind: 'event', value: 'view_*', property: null },
  { kind: 'distinct_id', value: 'order-2001', property: null },
];
const CONTEXTS: readonly IntakeContext[] = [
  browser({ site: siteWith({ block_rules: BLOCK_RULES }) }),
  server({
    site: siteWith({
      block_rules: [
        { kind: 'country', value: 'DE', property: null },
        { kind: 'user_agent', value: '*curl*', property: null },
      ],
    }),
  }),
  browser({
    site: siteWith({
      block_rules: [
        { kind: 'property', value: '1', property: 'plan' },
        { kind: 'property', value: 'x', property: 'held.plan' },
      ],
    }),
  }),
  browser(),
  browser({ site: siteWith({ default_country: 'DE', server_only_events: ['purchase'] }), country: 'FR' }),
  browser({
    site: siteWith({
      consent_defaults: [
        { country: 'EEA', consent: 'denied' },
        { country: null, consent: 'granted' },
      ],
    }),
    country: 'FR',
  }),
  server(),
  server({ site: siteWith({ default_country: null, identify_events: ['view_item'] }), userAgent: null }),
];

type Read = { ok: true; events: unknown[]; sentAtMs: number | null } | { ok: false; code: string };

function carefully(body: Buffer): Read {
  const parsed = parseJson(body);
  return parsed.ok ? readEnvelope(parsed.value, EVENTS_MAX) : parsed;
}

/** All that comes of a body: what is answered, and the bytes that are stored. */
function outcome(read: Read, context: IntakeContext) {
  if (!read.ok) return { code: read.code };
  const { taken, rejected, dropped, warned } = processBatch(read.events, { ...context, sentAtMs: read.sentAtMs });
  const record = encodeEvents(1, taken, 0, EVENTS_MAX, 2 ** 20).value.toString('latin1');
  return { taken, rejected, dropped, warned, record };
}

/** The careful path goes first: the fast one takes only names that it has met. */
function expectSame(body: Buffer, context: IntakeContext): void {
  const expected = outcome(carefully(body), context);
  const found = outcome(scanBody(body, EVENTS_MAX) ?? carefully(body), context);
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    expect({ body: body.toString('latin1'), ...found }).toEqual({ body: body.toString('latin1'), ...expected });
  }
}

test('both paths make the same of hostile bodies', { timeout: FUZZ_MS_MAX }, () => {
  const chance = chanceOf(testSeed());
  const all = isFuzz ? BODIES_OF_FUZZ : BODIES;
  for (let count = 0; count < all; count += 1) expectSame(hostileBody(chance), chance.one(CONTEXTS));
});

test('they do so of a text that another country read before', () => {
  const countries = [null, ...'DE DK ES IN IT JP NO PL SA SG US'.split(' ')];
  for (const text of FOREIGN_DIGITS.flatMap((one) => [one, `meet me ${one}`])) {
    const properties = { plan: text };
    const body = Buffer.from(JSON.stringify({ events: [{ event: 'seen', uuid: 'a', properties }] }));
    for (const default_country of [...countries, ...countries]) {
      expectSame(body, server({ site: siteWith({ default_country }) }));
    }
  }
});

const NAMES_OF_ALL_SIZES = 9_000;

test('they do so of a name that stands twice, whenever others are forgotten', () => {
  for (let count = 0; count < NAMES_OF_ALL_SIZES; count += 1) {
    const name = `n${String(count).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)))}q`;
    const event = `{"event":"seen","uuid":"a","properties":{"plan":1,"${name}":2,"plan":3}}`;
    expectSame(Buffer.from(`{"events":[${event}]}`), browser());
  }
});

/** Every word that says something of a person or a secret, and others. */
const WORDS = [...Object.values(keyWords), ...keyWords.SECRET_WORDS.map(([, words]) => words)]
  .flatMap((one) => (typeof one === 'string' ? one.split(' ') : []))
  .concat(KEYS, 'item_id plan 0x10 page_type'.split(' '));
const EVENTS_OF_WORDS = 5;

test('they do so of every name that says something, whatever stands under it', () => {
  const events = WORDS.flatMap((word, at) => {
    const value = PLAIN[at % PLAIN.length];
    return PLAIN.flatMap((one) => [
      { first: 1, [word]: one },
      { [word]: value, held: { first: 'x', [word]: one } },
    ]);
  }).map((properties) => ({ event: 'seen', uuid: '019a6a5d-ac96-474b-8cce-b302099a8057', properties }));
  for (let at = 0; at < events.length; at += EVENTS_OF_WORDS) {
    const body = Buffer.from(JSON.stringify({ events: events.slice(at, at + EVENTS_OF_WORDS) }));
    expectSame(body, CONTEXTS[(at / EVENTS_OF_WORDS) % CONTEXTS.length] ?? browser());
  }
});

test('they do so of every number, however it is written', () => {
  for (const number of NUMBERS) {
    const members = [
      `"plan":${number}`,
      `"plan":[${number},1,2]`,
      `"value":${number}`,
      `"held":{"value":${number}}`,
      `"plan":1,"42":${number}`,
    ];
    for (const member of members) {
      expectSame(Buffer.from(`{"events":[{"event":"seen","uuid":"a","properties":{${member}}}]}`), browser());
    }
  }
});

test('they do so where most events are usual, and most of these are taken fast', () => {
  const chance = chanceOf(testSeed() + 1);
  let fast = 0;
  let total = 0;
  for (let count = 0; count < cases(300); count += 1) {
    const body = Buffer.from(bodyText(chance));
    expectSame(body, chance.one(CONTEXTS));
    const events = scanBody(body, EVENTS_MAX)?.events ?? [];
    total += events.length;
    fast += events.filter((event) => event instanceof ScannedEvent).length;
  }
  expect(total).toBeGreaterThan(0);
  expect(fast / total).toBeGreaterThan(0.4);
});

test('they do so where a rule blocks by a property, and an event without it is taken fast', () => {
  const block_rules: Site['block_rules'] = [
    { kind: 'property', value: '1', property: 'plan' },
    { kind: 'property', value: 'x', property: 'held.page' },
  ];
  const context = browser({ site: siteWith({ block_rules }) });
  const isFast = (properties: object): boolean => {
    const body = Buffer.from(JSON.stringify({ events: [{ event: 'seen', uuid: 'a', properties }] }));
    expectSame(body, context);
    const [event] = scanBody(body, EVENTS_MAX)?.events ?? [];
    return event instanceof ScannedEvent && takeScanned(event, beginRequest(context, 1)) !== null;
  };
  expect(isFast({ page_type: 'home' })).toBe(true);
  for (const properties of [{ plan: 1 }, { plan: 2 }, { 'held.page': 'x' }, { held: { page: 'x' } }]) {
    expect(isFast(properties)).toBe(false);
  }
});

test('they read the same consent, whoever says it, and a usual event that says it is taken fast', () => {
  const context = browser({ site: siteWith({ consent_defaults: [{ country: null, consent: 'denied' }] }) });
  const isFast = (properties: object): boolean => {
    const body = Buffer.from(JSON.stringify({ events: [{ event: 'seen', uuid: 'a', properties }] }));
    expectSame(body, context);
    const [event] = scanBody(body, EVENTS_MAX)?.events ?? [];
    return event instanceof ScannedEvent && takeScanned(event, beginRequest(context, 1)) !== null;
  };
  for (const said of CONSENTS)
    expect(isFast({ page_type: 'home', ...said, plan: 'pro' }), JSON.stringify(said)).toBe(true);
  for (const said of NESTED_CONSENTS) isFast({ page_type: 'home', ...said, plan: 'pro' });
});

test('they do so of an event that the fast path began to read and gave up', () => {
  const numbers = Array.from(
    { length: 110 },
    (_, at) =>
      `plus 99${at % 10} ${String(at + 100)
        .split('')
        .join(' ')} 45 67 89`,
  );
  const body = Buffer.from(
    JSON.stringify({ events: [{ event: 'seen', uuid: 'a', properties: { plan: numbers.join(' x ') } }] }),
  );
  expectSame(body, browser());
});

test('what the fast path reads in vain is little, and is counted', () => {
  const texts = Array.from({ length: EVENTS_MAX }, (_, at) =>
    Array.from({ length: 90 }, (_one, more) => `plus 993 1 2 3 ${at + 10} ${more + 10} 89`).join(' x '),
  );
  const costs = (fields: object) => {
    const events = texts.map((plan) => ({ event: 'seen', uuid: 'a', properties: { plan }, ...fields }));
    const body = Buffer.from(JSON.stringify({ events }));
    expectSame(body, browser());
    const read = carefully(body);
    if (!read.ok) throw new Error(read.code);
    const careful = processBatch(read.events, browser()).steps;
    return { careful, tried: processBatch(scanBody(body, EVENTS_MAX)?.events ?? [], browser()).steps };
  };
  // Nothing is looked through of an event that is refused.
  const refused = costs({ distinct_id: 'x'.repeat(201) });
  expect(refused.tried - refused.careful).toBeLessThan(100);
  const { careful, tried } = costs({});
  expect(tried).toBeGreaterThan(careful);
  expect(tried - careful).toBeLessThan(15_000);
});

test('an event that is taken fast costs as many steps', () => {
  const chance = chanceOf(testSeed() + 2);
  let compared = 0;
  for (let count = 0; count < 200; count += 1) {
    const body = Buffer.from(JSON.stringify({ events: [usualEvent(chance), usualEvent(chance)] }));
    const read = carefully(body);
    if (!read.ok) throw new Error(read.code);
    processBatch(read.events, browser());
    const events = scanBody(body, EVENTS_MAX)?.events ?? [];
    const call = beginRequest(browser(), events.length);
    if (events.some((event) => !(event instanceof ScannedEvent) || takeScanned(event, call) === null)) continue;
    compared += 1;
    expect(processBatch(events, browser()).steps).toBe(processBatch(read.events, browser()).steps);
  }
  expect(compared).toBeGreaterThan(50);
});
