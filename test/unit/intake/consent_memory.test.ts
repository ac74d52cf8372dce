import { expect, test } from 'vitest';
import { readConsent } from '#pipelines/events/consent.ts';

test('a number too large to be read is a refusal, and makes none of the null of another event', () => {
  const saying = (analytics_storage: unknown) => ({ ad_storage: 'granted', analytics_storage });
  const large: unknown = JSON.parse('1e400');
  for (let round = 0; round < 2; round += 1) {
    expect(readConsent(saying(large)).analytics_storage).toBe(false);
    expect(readConsent(saying(null)).analytics_storage).toBeNull();
    expect(readConsent({ $consent: { analytics: large, ads: 'granted' } }).analytics_storage).toBe(false);
    expect(readConsent({ $consent: { analytics: null, ads: 'granted' } }).analytics_storage).toBeNull();
  }
});
