import { isRecord, type Properties } from './properties.ts';

/** What the visitor agreed to, in Google's terms; null where the event says nothing. */
export interface Consent {
  adUserData: boolean | null;
  adPersonalization: boolean | null;
}

function granted(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  const word =
    typeof value === 'string'
      ? value
          .trim()
          .toLowerCase()
          .replace(/^consent_/, '')
      : '';
  if (word === 'granted') return true;
  return word === 'denied' ? false : null;
}

/** Google's consent signal `gcs`, `G1` and a digit each for advertising and analytics. */
const fromSignal = (value: unknown): boolean | null => {
  const digit = typeof value === 'string' ? /^G1([01])[01-]$/.exec(value)?.[1] : undefined;
  return digit === undefined ? null : digit === '1';
};

/**
 * Reads consent from the property `consent` (or `$consent`), an object of `ad_user_data` and `ad_personalization` with
 * `granted`, `denied` or flags, or from gtag's `gcs`, whose word on advertising stands for both.
 */
export function consentOf(properties: Properties): Consent {
  const given = [properties['consent'], properties['$consent']].find(isRecord) ?? {};
  const signal = fromSignal(properties['gcs']);
  return {
    adUserData: granted(given['ad_user_data']) ?? signal,
    adPersonalization: granted(given['ad_personalization']) ?? signal,
  };
}
