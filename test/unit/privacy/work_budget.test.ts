import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { cleanProperties, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { createWorkBudget, EVENT_STEPS_MAX, REQUEST_STEPS_MAX, startEvent } from '#pipelines/privacy/normalise_text.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { server } from '#test/unit/intake/context.ts';

const EMAIL = 'jane@example.com';
const PHONE = '+1 415 555 0100';

function cleaned(properties: JsonObject) {
  const budget = createWorkBudget();
  startEvent(budget);
  const outcome = cleanProperties(properties, {
    anonymous: true,
    defaultCountry: 'US',
    countries: ['US', 'GB'],
    lifted: new Set(),
    budget,
  });
  if (!outcome.ok) throw new Error(outcome.problem);
  return { properties: outcome.properties, found: outcome.found, steps: budget.made.steps };
}

/** A value in so many JSON texts, one in the other. */
function inTexts(value: unknown, count: number): unknown {
  return count === 0 ? value : JSON.stringify([inTexts(value, count - 1)]);
}

/** As many spellings of a word. */
function spellings(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) =>
    Array.from(word, (letter, at) => letter + ['', '_', '-', ' '][(number >> (2 * at)) & 3]).join(''),
  );
}

const valuesOf = (names: readonly string[], value: (at: number) => unknown): JsonObject =>
  Object.fromEntries(names.map((name, at) => [name, value(at)]));
const LONG = 250_000;
const longOf = (unit: string): string => unit.repeat(Math.ceil(LONG / unit.length));

const HOSTILE: readonly (readonly [string, JsonObject])[] = [
  ...['%E2=', '%2540', 'a@', '(65', '01 23 ', '１', '&#64;', '\\u0040', '4155550100,', '"tel":"1', '%41=&', 'é%'].map(
    (unit) => [`one text of ${unit}`, { x: longOf(unit) + EMAIL + PHONE }] as const,
  ),
  ['JSON in texts', { x: inTexts([longOf('%E2=').slice(0, 100_000), EMAIL, PHONE], 13) }],
  ['many short texts', { x: Array.from({ length: 4_000 }, (_, at) => `%E2=${at} ${EMAIL}`) }],
  ['many short numbers', { x: Array.from({ length: 4_000 }, (_, at) => `650 ${at} 0142 ${PHONE}`) }],
  [
    'many names',
    valuesOf(
      Array.from({ length: 4_900 }, (_, at) => `email${100_000 + at}x`),
      () => EMAIL,
    ),
  ],
  [
    'many names of personal text',
    valuesOf(
      Array.from({ length: 2_400 }, (_, at) => `${at}%E2=${EMAIL}`),
      () => 1,
    ),
  ],
  ['many names in pairs', { x: Array.from({ length: 1_600 }, (_, at) => [`email${100_000 + at}x`, EMAIL]) }],
  ['many members', { x: Array.from({ length: 9_000 }, (_, at) => `{a${100_000 + at}: '${EMAIL}'}`).join() }],
  ['many parameters', { x: Array.from({ length: 9_000 }, (_, at) => `a${100_000 + at}=${EMAIL}`).join('&') }],
  ['many spellings of a name', valuesOf(spellings('email', 900), (at) => `${at}${EMAIL}`)],
  ['many spellings of a place', valuesOf(spellings('zipcode', 2_000), (at) => `${at} ${EMAIL}`)],
];

describe('cleaning an event', () => {
  it('costs no more than an event may, and what is not judged is not kept', () =>
    checkAll(HOSTILE, ([, properties]) => {
      const { properties: kept, steps } = cleaned(properties);
      expect(steps).toBeLessThanOrEqual(EVENT_STEPS_MAX);
      expect(JSON.stringify(kept)).not.toContain('jane');
      expect(JSON.stringify(kept)).not.toContain('0100"');
    }));

  it('judges a name once', () => {
    const once = redactSteps('%E2=1&');
    expect(redactSteps('%E2=1&'.repeat(500))).toBeLessThan(500 * once - 499 * 4);
  });

  it('leaves short members beside a costly text as they are', () => {
    const { properties } = cleaned({ x: longOf('%E2='), plan: 'pro', note: `for ${EMAIL}` });
    expect(properties).toEqual({ x: 'redacted', plan: 'pro', note: 'for redacted' });
  });

  it('leaves a usual event far below the bound', () => {
    const url =
      'https://www.shop.example/shoes?utm_source=a&utm_campaign=spring%20sale&gclid=Cj0KCQjw1234567BhCPARIsAJo3';
    const items = Array.from({ length: 10 }, (_, at) => ({
      item_id: `SKU_1234${at}`,
      price: 9.5,
      ean: `400638133393${at}`,
    }));
    const { steps } = cleaned({ url, referrer: url, title: 'Shoes – 2 for 1', phone: PHONE, email: EMAIL, items });
    expect(steps).toBeLessThan(EVENT_STEPS_MAX / 20);
  });
});

function redactSteps(text: string): number {
  const budget = createWorkBudget();
  redactText(text, false, [], budget);
  return budget.made.steps;
}

describe('JSON in texts', () => {
  it('is cleaned three deep, and goes beyond that', () => {
    expect(cleaned({ x: inTexts({ email: EMAIL, a: 1 }, 3) }).properties).toEqual({ x: inTexts({ a: 1 }, 3) });
    expect(cleaned({ x: inTexts({ a: 1 }, 4) }).properties).toEqual({ x: inTexts('redacted', 3) });
  });

  it('keeps nothing of what stands twice in it, at any depth', () => {
    const twice = `{"a":"${EMAIL}","a":1}`;
    for (const depth of [0, 1, 2]) {
      for (const beside of [{}, { email: EMAIL }]) {
        const text = inTexts({ ...beside, twice }, depth);
        expect(JSON.stringify(cleaned({ text }).properties)).not.toContain('jane');
      }
    }
  });

  it('is looked through as it stands once, however deep it is', () => {
    const text = 'a=1&b=%20 '.repeat(100);
    const [one, three] = [1, 3].map((depth) => cleaned({ x: inTexts(text, depth) }).steps) as [number, number];
    expect(three).toBeLessThan(one * 1.5);
  });
});

describe('cleaning a request', () => {
  it('counts each value, though it takes no effort of the others', () => {
    const stepsOf = (values: number): number =>
      processBatch([{ event: 'e', properties: { list: Array(values).fill(0) } }], server()).steps;
    stepsOf(1);
    expect(stepsOf(4_000) - stepsOf(1_000)).toBe(3_000);
    expect(cleaned({ list: Array(4_000).fill(0) }).steps).toBeLessThan(50);
  });

  it('costs no more than a request may, its ids included', () => {
    const id = (at: number): string => Array.from({ length: 12 }, (_, n) => `${650 + n} ${at}55 01${at}x`).join(' ');
    const events = Array.from({ length: 50 }, (_, at) => ({
      event: 'e',
      uuid: id(at).slice(0, 199),
      distinct_id: id(at + 50).slice(0, 199),
      properties: { order_id: id(at + 100).slice(0, 199), x: `${'%E2=1 650 555 0142, '.repeat(250)}${EMAIL}` },
    }));
    const { taken } = processBatch(events, server());
    expect(taken).toHaveLength(50);
    const judged = taken.filter(({ properties }) => !properties.includes('"x":"redacted"')).length;
    expect(judged).toBeGreaterThan(1);
    expect(judged).toBeLessThan(20);
    for (const { properties } of taken) expect(properties).not.toContain('jane');
  });

  it('leaves later events less, and each 50 as much', () => {
    const budget = createWorkBudget(2);
    expect(budget.left).toBe(2 * REQUEST_STEPS_MAX);
    startEvent(budget);
    expect(budget.left).toBe(EVENT_STEPS_MAX);
    budget.made.steps = 2 * REQUEST_STEPS_MAX - 10;
    startEvent(budget);
    expect(budget.left).toBe(10);
  });
});
