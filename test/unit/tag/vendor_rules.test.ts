import { expect, test } from 'vitest';
import { mappedEventName as chosenByService, chosenNames } from '#pipelines/delivery/setting_fields.ts';
import { conversionName } from '#pipelines/events/vocabulary.ts';
import type { EventDefinition } from '#services/tag/src/types.ts';
import { mappedEventName, nameRule, pixelOf, vendorNames } from '#services/tag/src/vendor_events.ts';
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

test('a name that the site chose is found by the most particular name of the event, however it is written', () => {
  const chosen = { quizdone: 'Lead', purchase: 'Sale' };
  expect(mappedEventName(chosen, ['quiz_done', 'purchase'])).toBe('Lead');
  expect(mappedEventName(chosen, ['Order Completed', 'Order Completed', 'purchase'])).toBe('Sale');
  expect(mappedEventName(chosen, ['cta', undefined])).toBeUndefined();
  expect(mappedEventName(chosen, ['constructor'])).toBeUndefined();
  expect(mappedEventName(undefined, ['purchase'])).toBeUndefined();
});

/** Both have to say the same, or a platform counts the event twice. */
test.each([
  ['quiz_done', ''],
  ['Quiz Done', ''],
  ['Order Completed', ''],
  ['step', 'purchase'],
  ['step', 'quiz-done'],
  ['cta', ''],
])('of %j that stands for %j the tag finds the name that the service does', (event, conversion_event) => {
  const settings = { event_names: 'quiz_done=Lead,purchase=Sale' };
  const told = definition({ name: 'step', conversion_event });
  const conversion = conversion_event === '' ? null : conversion_event;
  const { canonical } = conversionName(conversion ?? event);
  const { name } = nameRule([told], event);
  const byTag = mappedEventName(Object.fromEntries(chosenNames(settings)), [event, name, vendorNames(name).ga4]);
  expect(byTag ?? null).toBe(chosenByService(settings, [event, conversion, canonical]));
});
