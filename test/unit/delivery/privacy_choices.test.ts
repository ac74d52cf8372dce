import { expect, test } from 'vitest';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { prepare } from '#pipelines/delivery/deliver.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { consentState, declaredConsent, privacyChoices, readConsent } from '#pipelines/events/consent.ts';
import { CONSENT_TYPES } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { type EntryChanges, entryOf, NOW_MS, siteOf } from './entries.ts';

const limited = (properties: Record<string, unknown>): boolean | null => readConsent(properties).limited_data_use;

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
const declared = (consent_defaults: NonNullable<Site['consent_defaults']>, country: string | null) =>
  declaredConsent(siteOf({ consent_defaults, default_country: null }), country);

test.each([
  ['at', false],
  ['IS', false],
  ['FR', true],
  ['US', true],
  [null, true],
] as const)('a site declares consent for countries, the EEA and all others: %s', (country, expected) => {
  expect(declared([...defaults], country)).toBe(expected);
});

test('where a site declares nothing for a country, nothing is known', () => {
  expect([declared([], 'AT'), declared([defaults[0]], 'US'), declared([defaults[0]], null)]).toEqual([
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
  const expectedOf = { adUserData: expected, adPersonalization: expected };
  expect(privacyChoices(consentState(readConsent(properties), null), { consent }, ofSite)).toMatchObject(expectedOf);
  expect(privacyChoices(consentState(readConsent(properties), ofSite), { consent }, null)).toMatchObject(expectedOf);
});

test('what the site declared when the event arrived holds where it declares otherwise since: one refusal is enough', () => {
  const of = (before: boolean, now: boolean) =>
    privacyChoices(consentState(readConsent({}), before), {}, now).adUserData;
  expect([of(false, true), of(true, false), of(true, true)]).toEqual([false, false, true]);
});

const [G, D] = ['granted', 'denied'];
test.each([
  // The tag's.
  [{ $consent: { ads: true, analytics: true } }, [G, G, G, G]],
  [{ $consent: { ads: false, analytics: true } }, [D, G, D, D]],
  // gtag's: `gcs`, and `gcd` as the edge's collector writes it.
  [{ gcs: 'G101' }, [D, G, D, D]],
  [{ gcs: 'G1-1' }, ['unset', G, 'unset', 'unset']],
  [{ gcs: 'G111', consent: { ad_user_data: 'denied', ad_personalization: 'denied' } }, [G, G, D, D]],
  [{ consent: { ad_storage: 'denied', ad_user_data: 'granted', analytics_storage: 'granted' } }, [D, G, D, D]],
  // Of servers and apps.
  [{ context: { consent: { categoryPreferences: { Advertising: false, Analytics: true } } } }, [D, G, D, D]],
  [{ context: { consent: { categoryPreferences: {} } } }, ['unset', 'unset', 'unset', 'unset']],
  [{ context: { consentManagement: { deniedConsentIds: ['C0002'], allowedConsentIds: ['C0004'] } } }, [G, D, G, G]],
  [{ ad_user_data: 'granted', npa: 1 }, ['unset', 'unset', G, D]],
  [{ opt_out: true }, ['unset', 'unset', 'unset', D]],
  [{ consent: 'perhaps' }, [D, D, D, D]],
] as const)('%j is stored as %j', (properties, expected) => {
  const states = (declared: boolean | null): string[] => {
    const consent = consentState(readConsent(properties), declared);
    return CONSENT_TYPES.map((type) => consent[type]);
  };
  expect(states(null)).toEqual(expected);
  expect(states(false)).toEqual(expected.map((state) => (state === 'unset' ? 'denied_by_default' : state)));
});

test('what the edge stored decides, and not what the properties say again', () => {
  const consent = consentState(readConsent({ consent: 'denied' }), null);
  const prepared = (changes: EntryChanges) =>
    prepare({ adapter: meta as Adapter, id: 'meta', settings: {}, rules: [] }, siteOf(), entryOf(changes), NOW_MS);
  const skipped = (reason: string) => ({ kind: 'skip', reason });
  expect(prepared({ consent, properties: { consent: 'granted' } })).toEqual(skipped('consent_denied'));
  const byDefault = consentState(readConsent({}), false);
  expect(prepared({ consent: byDefault, properties: {} })).toEqual(skipped('consent_denied_by_default'));
  // Of an event from before it was stored, its properties say it.
  expect(prepared({ consent: null, properties: { consent: 'denied' } })).toEqual(skipped('consent_denied'));
});
