import { expect, test } from 'vitest';
import { defaultConsent, privacyChoices } from '#pipelines/events/consent.ts';

const limited = (properties: Record<string, unknown>): boolean | null =>
  privacyChoices(properties, {}, null).limitedDataUse;

test.each([
  { gpc: false },
  { gpc: '0' },
  { $gpc: 0 },
  { sec_gpc: 'no' },
  { us_privacy: '1YNN' },
  { usPrivacy: '1---' },
  { restricted_data_processing: false },
  { context: { gpc: false } },
])('a signal that is not set leaves it to the site: %j', (properties) => {
  expect(limited(properties)).toBeNull();
});

test.each([
  { gpc: true },
  { sec_gpc: '1' },
  { gpc: 'perhaps' },
  { us_privacy: '1YYN' },
  { us_privacy: 'perhaps' },
  { restricted_data_processing: 1 },
  { limited_data_use: false, gpc: 1 },
])('a signal that is set limits, and so does one that cannot be read: %j', (properties) => {
  expect(limited(properties)).toBe(true);
});

test.each([
  { limited_data_use: false },
  { limitedDataUse: 'no' },
  { data_processing_options: [] },
  { limited_data_use: false, gpc: 0, us_privacy: '1YNN' },
])('the platforms’ own words say that nothing is limited: %j', (properties) => {
  expect(limited(properties)).toBe(false);
});

const defaults = [
  { country: 'EEA', consent: 'denied' },
  { country: 'FR', consent: 'granted' },
  { country: null, consent: 'granted' },
] as const;

test.each([
  ['at', false],
  ['IS', false],
  ['FR', true],
  ['US', true],
  [null, true],
] as const)('a site declares consent for countries, the EEA and all others: %s', (country, expected) => {
  expect(defaultConsent(defaults, country)).toBe(expected);
});

test('where a site declares nothing for a country, nothing is known', () => {
  expect([defaultConsent([], 'AT'), defaultConsent([defaults[0]], 'US'), defaultConsent([defaults[0]], null)]).toEqual([
    null,
    null,
    null,
  ]);
});

test.each([
  [{}, 'granted', false, false],
  [{}, 'denied', true, false],
  [{}, undefined, true, true],
  [{}, 'granted', null, true],
  [{ consent: 'granted' }, 'denied', false, true],
  [{ consent: 'denied' }, 'granted', true, false],
])('of %j, the destination %s and the site %s, user data goes: %s', (properties, consent, ofSite, expected) => {
  expect(privacyChoices(properties, { consent }, ofSite)).toMatchObject({
    adUserData: expected,
    adPersonalization: expected,
  });
});
