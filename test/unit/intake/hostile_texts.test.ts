import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { cleanUserAgent } from '#pipelines/privacy/collect_identifiers.ts';
import { hashName } from '#pipelines/privacy/hash_identifiers.ts';
import { isAnswerPersonal } from '#pipelines/privacy/key_meaning.ts';
import { WORDS } from '#pipelines/privacy/key_words.ts';
import { createWorkBudget, normalised, scanText } from '#pipelines/privacy/normalise_text.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { browser, server } from './context.ts';

const eventOf = (properties: object) => ({ event: 'seen', uuid: 'a1', distinct_id: 'v', properties });
const GOOD = { event: 'good', uuid: 'a2', properties: {} };

function stored(properties: object): Record<string, unknown> {
  const [event] = processBatch([eventOf(properties)], browser()).taken;
  return JSON.parse(event?.properties ?? 'null') as Record<string, unknown>;
}

test('capitals in a row are told from words without trying each of them in two ways', () => {
  for (const sign of ['_', ' ', '-']) {
    const capitals = `${`A${sign}`.repeat(40)}1`;
    expect(WORDS.test(capitals)).toBe(false);
    expect(
      stored({ password_field: capitals, list: ['password', capitals], text: `password = ${capitals}` }),
    ).toBeDefined();
    expect(cleanUserAgent(`Mozilla password = ${capitals}`)).toContain('Mozilla');
  }
  for (const words of ['GOOGLE', 'A', 'A B', 'Sign-In', 'ÄRGER Über', 'password'])
    expect(WORDS.test(words), words).toBe(true);
  for (const none of ['', 'A1', 'aB', 'A__B', 'A ']) expect(WORDS.test(none), none).toBe(false);
});

test('marks in a row cost no square of their number', () => {
  const [above, below] = ['\u0301', '\u0323'];
  for (const marks of [above.repeat(40_000) + below.repeat(40_000), '\uff9e\u0323'.repeat(40_000)]) {
    const text = `a${marks}`;
    for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const)
      expect(normalised(text, form).length).toBeGreaterThan(80_000);
    expect(hashName(text)).toBeNull();
    for (const name of ['first_name', 'email', 'city', 'plan', text.slice(0, 200)]) stored({ [name]: text });
  }
  expect(normalised('e\u0301\u0323', 'NFC')).toBe('e\u0301\u0323'.normalize('NFC'));
});

test('lists in lists refuse their event alone, however deep', () => {
  let deep: unknown = 'x';
  for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
  for (const name of ['password', 'email', 'plan']) {
    const sent = { event: 'seen', timestamp: '2026-11-10T11:59:00.123Z', properties: { [name]: deep } };
    for (const one of [sent, { ...sent, uuid: 'a1' }]) {
      const { taken, rejected } = processBatch([one, GOOD], server());
      expect(taken.map(({ event }) => event)).toContain('good');
      expect(taken.length + rejected.length).toBe(2);
    }
  }
});

test('names of fields in a form are judged once, and at the cost of the request', () => {
  const fields = 'name field label key id question title type'.split(' ');
  const record = Object.fromEntries(fields.map((name) => [name, `100000${'телефон'.repeat(7)}x`]));
  const budget = createWorkBudget();
  isAnswerPersonal(record, 'a', budget);
  const { steps } = budget.made;
  expect(steps).toBeGreaterThan(0);
  for (let answers = 0; answers < 1_000; answers += 1) isAnswerPersonal(record, 'a', budget);
  expect(budget.made.steps).toBe(steps);
});

test('a list of very many addresses is read at its beginning alone', () => {
  const [event] = processBatch(
    [eventOf({ client_ip_address: `203.0.113.7,${'::1,'.repeat(20_000)}` })],
    server(),
  ).taken;
  expect(event?.client_ip).toBe('203.0.113.7');
});

test('a secret as a name is gone as it is as a value', () => {
  for (const secret of ['sk_live_abcdefghijklmnopqrst', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'])
    for (const given of [{ [secret]: 1 }, { plan: secret }])
      expect(JSON.stringify(stored(given)), secret).not.toContain(secret);
  expect(stored({ 'product-key-features-list': 1 })).toEqual({ 'product-key-features-list': 1 });
});

test('a user agent is cut behind what is taken out of it', () => {
  const cut = cleanUserAgent(`${'a'.repeat(1_014)} jane.doe@example.com`);
  expect(cut).not.toContain('jane.doe');
  expect(cut?.length).toBeLessThanOrEqual(1_024);
});

test('a number of seven digits or more is no name of a place', () => {
  const [event] = processBatch(
    [eventOf({ city: 'Madrid 612345678', state: '612 345 678', zip: '28001-1234' })],
    server(),
  ).taken;
  expect([event?.city, event?.state, event?.zip]).toEqual(['redacted', 'redacted', '28001-1234']);
});

test('an address is found whose sign has leading zeros', () => {
  for (const sign of ['&#x0000040;', '&#0000000064;'])
    expect(redactText(`jane${sign}example.com`)).not.toContain('example.com');
});

test('a text that would become many times as long is not kept', () => {
  const texts = [`${'\ufdfa'.repeat(650)} a@b.co`, `jane%25252540b.co${'{'.repeat(5_000)}`];
  for (const text of texts) expect(redactText(text).length).toBeLessThan(4 * text.length + 10);
  expect(redactText(`Ünïcödé a@b.co`)).toBe('Ünïcödé redacted');
});

test('user agents that are kept beyond a request do not keep what they were part of', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const agent = (at: number): string => `Mozilla/5.0 (Model ${at})`;
  const take = (at: number): void => {
    const whole = `${'x'.repeat(250_000)}${agent(at)}`;
    cleanUserAgent(whole.slice(250_000));
  };
  for (let at = 0; at < 10; at += 1) take(at);
  const before = used();
  for (let at = 10; at < 70; at += 1) take(at);
  expect(used() - before).toBeLessThan(60 * 60_000);
  expect(scanText(agent(1))).toBe(0);
});
