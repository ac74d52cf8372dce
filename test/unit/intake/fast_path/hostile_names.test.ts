import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createIdMemory } from '#pipelines/intake/event_id.ts';
import { ScannedEvent, scanBody } from '#pipelines/intake/fast_path/scan_body.ts';
import { hashed, knownName, NAME_SEED } from '#pipelines/intake/fast_path/text_signs.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { keyMeaning } from '#pipelines/privacy/key_meaning.ts';
import { browser } from '../context.ts';

const EVENTS_MAX = 50;
const MIB = 1024 ** 2;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const lettersOf = (at: number): string => String(at).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));

test.each([
  ['ids', (at: number) => ({ event: 'seen', uuid: `order-number-${at}`, properties: {} })],
  ['names of events', (at: number) => ({ event: `an_event_of_ours_${lettersOf(at)}`, uuid: 'a', properties: {} })],
  [
    'names of parameters',
    (at: number) => ({
      ...{ event: 'seen', uuid: 'a' },
      properties: { page: `https://shop.example/?some_parameter_${lettersOf(at)}=1` },
    }),
  ],
])('%s that are kept beyond a request do not keep its body', (_what, eventOf) => {
  const [memory, spaces, bodies] = [createIdMemory(), ' '.repeat(250_000), 60];
  const take = (at: number): void => {
    const body = Buffer.from(`{"events":[${JSON.stringify(eventOf(at))}${spaces}]}`);
    memory(processBatch(scanBody(body, EVENTS_MAX)?.events ?? [], browser()).taken);
  };
  // The careful path meets the names first.
  processBatch([eventOf(0)], browser());
  for (let at = 0; at < 10; at += 1) take(at);
  const before = heapUsed();
  for (let at = 10; at < 10 + bodies; at += 1) take(at);
  expect(heapUsed() - before).toBeLessThan((bodies * spaces.length) / 4);
  expect(bodies * spaces.length).toBeGreaterThan(10 * MIB);
});

const SLOTS_BITS = 14;

function hashOf(name: string): number {
  let hash = NAME_SEED;
  for (const byte of Buffer.from(name)) hash = hashed(hash, byte);
  return hash;
}

test('an event of very many values is no usual one, whatever their names', () => {
  const spelled = Array.from({ length: 600 }, (_, at) =>
    Array.from('fieldvalue', (letter, bit) => ((at >> bit) & 1 ? letter.toUpperCase() : letter)).join(''),
  );
  for (const name of spelled) keyMeaning(name);
  const isUsual = (names: readonly string[]): boolean => {
    const properties = Object.fromEntries(names.map((name) => [name, 1]));
    const body = Buffer.from(JSON.stringify({ events: [{ event: 'seen', uuid: 'a', properties }] }));
    return scanBody(body, EVENTS_MAX)?.events[0] instanceof ScannedEvent;
  };
  expect(isUsual(spelled.slice(0, 400))).toBe(true);
  expect(isUsual(spelled)).toBe(false);
});

test('names that were chosen to meet in the table are not looked for on and on, and others are found', () => {
  const slotOf = (name: string): number => (hashOf(name) ^ (hashOf(name) >>> 15)) & (2 ** SLOTS_BITS - 1);
  const find = (name: string) => {
    const body = Buffer.from(name);
    return knownName(body, 0, body.length, hashOf(name));
  };
  const met = (slotOf('page_type') + 1_000) % 2 ** SLOTS_BITS;
  const meeting: string[] = [];
  for (let at = 0; meeting.length < 24; at += 1) {
    const name = `n${lettersOf(at)}`;
    if (slotOf(name) === met) meeting.push(name);
  }
  for (const name of meeting) keyMeaning(name);
  const found = meeting.filter((name) => find(name) !== null);
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThanOrEqual(16);
  expect(meeting.filter((name) => find(name) !== null)).toEqual(found);
  keyMeaning('page_type');
  expect(find('page_type')).not.toBeNull();
});
