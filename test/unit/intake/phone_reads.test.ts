import { setImmediate } from 'node:timers/promises';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { readInventory } from '#pipelines/intake/inventory.ts';
import { processBatch, processBatchInSlices } from '#pipelines/intake/take_event.ts';
import { browser, server, siteWith, take } from './context.ts';

vi.mock('libphonenumber-js/max', { spy: true });

const EVENT_READS_MAX = 600;
/** For each 50 events. */
const REQUEST_READS_MAX = 2_000;
const ID_READS_MAX = 12;
const reads = vi.mocked(parsePhoneNumberFromString);
beforeEach(() => void reads.mockClear());

/** Texts of numbers that are no two alike, written in groups and with two zeros. */
const grouped = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, at) => `12 34 5${String(from + at).padStart(6, '0')};`).join('');
const zeros = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, at) => `0011${String(from + at).padStart(7, '0')};`).join('');

describe('reading phone numbers costs no more than so much', () => {
  it.each([
    ['groups in a property', { note: grouped(5_000) }],
    ['double zeros in a property', { note: zeros(5_000) }],
    ['many properties', Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, zeros(20, at * 20)]))],
    ['places', { city: zeros(5_000), City: zeros(5_000, 5_000), zip: zeros(5_000, 10_000) }],
    ['keys', Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [zeros(5, at * 5), 1]))],
    ['a user agent', { client_user_agent: [0, 80, 160].map((from) => zeros(80, from)) }],
  ])('in one event: %s', (_case, properties) => {
    take({ event: 'e', distinct_id: 'v', properties: { ...properties, country: 'GB' } }, server());
    expect(reads.mock.calls.length).toBeLessThanOrEqual(EVENT_READS_MAX);
  });

  it('in one request', () => {
    const events = Array.from({ length: 50 }, (_, at) => {
      const note = grouped(100, at * 100);
      const ids = { event: zeros(10, at * 10), uuid: `u${at}`, distinct_id: 'v' };
      return { ...ids, properties: { country: 'GB', note } };
    });
    expect(processBatch(events, browser()).taken).toHaveLength(50);
    expect(reads.mock.calls.length).toBeGreaterThan(EVENT_READS_MAX);
    expect(reads.mock.calls.length).toBeLessThanOrEqual(REQUEST_READS_MAX);
  });

  it('in an inventory', () => {
    const elements = Array.from({ length: 300 }, (_, at) => ({ type: 'a', selector: 'a', text: zeros(500, at * 500) }));
    expect(readInventory({ page: '/', url: '/', title: '', elements }, false, ['GB']).ok).toBe(true);
    expect(reads.mock.calls.length).toBeLessThanOrEqual(REQUEST_READS_MAX);
  });
});

it('a text that repeats is read once in a country', () => {
  const event = { event: 'e', distinct_id: 'v', properties: { note: '12 34 56 78 9; '.repeat(50) } };
  const site = siteWith({ default_country: 'GB' });
  processBatch(Array<unknown>(50).fill(event), browser({ site, country: null }));
  expect(reads).toHaveBeenCalledTimes(1);
});

it('beyond that a candidate is taken for a number, and the next event has its own', () => {
  const look = '99 99 99 99 9';
  const others = Array.from({ length: 4 }, (_, at) => grouped(200, at * 200));
  const events = [[...others, look], [look]].map((texts) => ({
    event: 'e',
    distinct_id: 'v',
    properties: { country: 'GB', texts },
  }));
  const [first, second] = processBatch(events, browser()).taken;
  expect(first?.properties).toContain('redacted');
  expect(first?.properties).not.toContain(look);
  expect(second?.properties).toContain(look);
});

it('ids are judged alike whatever stands before them', () => {
  const look = '99 99 99 99 9';
  const site = siteWith({ default_country: 'GB' });
  const ids = { event: '$identify', uuid: look, distinct_id: `d ${look}` };
  const last = { ...ids, properties: { order_id: look, $anon_distinct_id: `a ${look}`, note: look } };
  const costly = Array.from({ length: 60 }, (_, at) => ({
    event: grouped(10, at * 10),
    distinct_id: 'v',
    properties: { note: grouped(250, at * 250) },
  }));
  const alone = processBatch([last], server({ site })).taken[0];
  const behind = processBatch([...costly, last], server({ site })).taken.at(-1);
  expect(alone?.properties).toContain(look);
  expect(behind?.properties).not.toContain(look);
  const idsOf = (event: typeof alone) => [
    event?.event_id,
    event?.distinct_id,
    event?.previous_distinct_id,
    event?.order_id,
  ];
  expect(idsOf(behind)).toEqual(idsOf(alone));
  expect(idsOf(behind)).toEqual([look, `d ${look}`, `a ${look}`, look]);
});

it('an id costs no more than so much', () => {
  const id = zeros(200).slice(0, 200);
  take({ event: 'e', uuid: id, distinct_id: id, properties: { order_id: id } }, server());
  expect(reads.mock.calls.length).toBeGreaterThan(0);
  expect(reads.mock.calls.length).toBeLessThanOrEqual(4 * ID_READS_MAX);
});

describe('a long batch', () => {
  const events = Array.from({ length: 230 }, (_, at) =>
    at % 10 === 7 ? { event: '' } : { event: `e${at}`, uuid: `u${at}`, distinct_id: 'v' },
  );

  it('is taken in turns, with the same outcome in the same order', async () => {
    let taken = 0;
    const turns = { isOver: () => ++taken % 50 === 0, next: vi.fn(() => setImmediate()) };
    expect(await processBatchInSlices(events, browser(), turns)).toEqual(processBatch(events, browser()));
    expect(turns.next).toHaveBeenCalledTimes(4);
  });

  it('whose turn is never over is taken in one', async () => {
    const turns = { isOver: () => false, next: vi.fn(() => setImmediate()) };
    await processBatchInSlices(events, browser(), turns);
    expect(turns.next).not.toHaveBeenCalled();
  });
});
