import { expect, test } from 'vitest';
import { createBodyScanner, ScannedEvent } from '#pipelines/intake/fast_path/scan_body.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { browser } from '../context.ts';

const bodyOf = (...properties: object[]): Buffer =>
  Buffer.from(JSON.stringify({ events: properties.map((one) => ({ event: 'seen', uuid: 'a', properties: one })) }));
const PLAIN = bodyOf({ plan: 'pro' });
const PERSONAL = bodyOf({ email: 'visitor@example.com' });

/** The careful path meets the names first. */
const meetNames = (): void => void processBatch([{ event: 'seen', properties: { plan: 'pro' } }], browser());

test('bodies are scanned, and their usual events are not parsed', () => {
  meetNames();
  const scan = createBodyScanner(50);
  const kinds = scan(bodyOf({ plan: 'pro' }, { email: 'visitor@example.com' }, { plan: 'pro' }))?.events.map(
    (event) => event instanceof ScannedEvent,
  );
  expect(kinds).toEqual([true, false, true]);
});

test('where all have to be parsed most are not looked at, until usual ones come again', () => {
  meetNames();
  const scan = createBodyScanner(50);
  const looks = Array.from({ length: 1_000 }, () => scan(PERSONAL)).filter((scanned) => scanned !== null);
  expect(looks.length).toBeGreaterThan(20);
  expect(looks.length).toBeLessThan(50);
  const later = Array.from({ length: 100 }, () => scan(PLAIN));
  expect(later.filter((scanned) => scanned === null).length).toBeLessThanOrEqual(32);
  expect(later.at(-1)).not.toBeNull();
});
