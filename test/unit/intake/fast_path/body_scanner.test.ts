import { expect, test } from 'vitest';
import { createBodyScanner, ScannedEvent } from '#pipelines/intake/fast_path/scan_body.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { browser } from '../context.ts';

const bodyOf = (...properties: object[]): Buffer =>
  Buffer.from(JSON.stringify({ events: properties.map((one) => ({ event: 'seen', uuid: 'a', properties: one })) }));
const PLAIN = bodyOf({ plan: 'pro' });
const PERSONAL = bodyOf({ email: 'visitor@example.com' });
const SENDER = {};

/** The careful path meets the names first. */
const meetNames = (): void => void processBatch([{ event: 'seen', properties: { plan: 'pro' } }], browser());

test('bodies are scanned, and their usual events are not parsed', () => {
  meetNames();
  const scan = createBodyScanner(50);
  const kinds = scan(bodyOf({ plan: 'pro' }, { email: 'visitor@example.com' }, { plan: 'pro' }), SENDER)?.events.map(
    (event) => event instanceof ScannedEvent,
  );
  expect(kinds).toEqual([true, false, true]);
});

test('where all have to be parsed most are not looked at, until usual ones come again', () => {
  meetNames();
  const scan = createBodyScanner(50);
  const looks = Array.from({ length: 1_000 }, () => scan(PERSONAL, SENDER)).filter((scanned) => scanned !== null);
  expect(looks.length).toBeGreaterThan(20);
  expect(looks.length).toBeLessThan(50);
  const later = Array.from({ length: 100 }, () => scan(PLAIN, SENDER));
  expect(later.filter((scanned) => scanned === null).length).toBeLessThanOrEqual(32);
  expect(later.at(-1)).not.toBeNull();
});

test('what one sender sends takes no look from another', () => {
  meetNames();
  const scan = createBodyScanner(50);
  for (let count = 0; count < 100; count += 1) scan(PERSONAL, SENDER);
  expect(scan(PERSONAL, SENDER)).toBeNull();
  expect(scan(PLAIN, {})).not.toBeNull();
});

test('events without an id are parsed, and looks at them are lost', () => {
  meetNames();
  const scan = createBodyScanner(50);
  const body = Buffer.from(JSON.stringify({ events: [{ event: 'seen', properties: { plan: 'pro' } }] }));
  expect(scan(body, SENDER)?.events).toEqual([{ event: 'seen', properties: { plan: 'pro' } }]);
  expect(Array.from({ length: 100 }, () => scan(body, SENDER)).some((scanned) => scanned === null)).toBe(true);
});
