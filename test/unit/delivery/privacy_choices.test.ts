import { expect, test } from 'vitest';
import { privacyChoices } from '#pipelines/events/consent.ts';

const limited = (properties: Record<string, unknown>): boolean | null => privacyChoices(properties, {}).limitedDataUse;

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
