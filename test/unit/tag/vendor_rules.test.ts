import { expect, test } from 'vitest';
import type { EventDefinition } from '#services/tag/src/types.ts';
import { nameRule, pixelOf } from '#services/tag/src/vendor_rules.ts';
import { definition as definedAs } from '#test/browser/tag/harness/definition.ts';

const definition = (told: Partial<EventDefinition>): EventDefinition => definedAs({ name: 'quiz_done', ...told });
const OFF = definition({ destinations: { meta: false } });

test('a name without a definition is itself and goes everywhere', () => {
  const rule = nameRule([OFF], 'purchase');
  expect([rule.name, rule.isSent('meta')]).toEqual(['purchase', true]);
});

test('a destination that is switched off gets nothing, one that is absent does', () => {
  const rule = nameRule([OFF], 'quiz_done');
  expect([rule.isSent('meta'), rule.isSent('tiktok')]).toEqual([false, true]);
});

test('of two definitions of a name one that sends is enough', () =>
  expect(nameRule([OFF, definition({ id: 'e' })], 'quiz_done').isSent('meta')).toBe(true));

test('a definition that is not enabled says nothing', () =>
  expect(nameRule([definition({ enabled: false, conversion_event: 'Lead' })], 'quiz_done').name).toBe('quiz_done'));

test('the conversion event takes the place of the name', () =>
  expect(nameRule([OFF, definition({ conversion_event: 'Lead' })], 'quiz_done').name).toBe('Lead'));

const FACEBOOK = { pixel_id: '11111', route_pixels: [{ pixel_id: '22222', url_pattern: '/fr/*' }] };

test.each([
  ['https://shop.example/fr/panier', '22222'],
  ['https://shop.example/cart', '11111'],
])('on %s the pixel is %s', (address, expected) => expect(pixelOf(FACEBOOK, new URL(address))).toBe(expected));
