import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { commerceOf, happenedAtMs } from '#pipelines/delivery/event_fields.ts';
import { baseUrlField, present } from '#pipelines/delivery/platform_http.ts';
import { eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { type Properties, textOrParameter } from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';

export const DEFAULT_BASE_URL = 'https://api.linkedin.com';
/** LinkedIn names its API's versions by month and keeps each for a year. */
const DEFAULT_VERSION = '202603';

export const SCHEMA = Type.Object({
  event_names: eventNamesField(
    'Conversion rules',
    'Ids of the conversion rules that events count for; an event without one is skipped.',
    'purchase=123456',
    '\\d{1,20}',
  ),
  access_token: secretField({
    title: 'Access token',
    description: 'Made in Campaign Manager under Conversions, or of an app with r_ads and rw_conversions.',
  }),
  version: textField({
    title: 'API version',
    description: 'Year and month.',
    pattern: '^20\\d{4}$',
    default: DEFAULT_VERSION,
  }),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type Settings = Static<typeof SCHEMA>;

interface UserId {
  idType: 'SHA256_EMAIL' | 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID';
  idValue: string;
}

/** Names, which LinkedIn takes in clear only, are not sent: the service does not keep them. */
function userIds(identifiers: Identifiers, properties: Properties): UserId[] {
  const click = textOrParameter(properties, ['li_fat_id', '$li_fat_id'], 'li_fat_id');
  return [
    ...(identifiers.email === null ? [] : [{ idType: 'SHA256_EMAIL' as const, idValue: identifiers.email }]),
    ...(click === null ? [] : [{ idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID' as const, idValue: click }]),
  ];
}

/** Amounts go as texts, and only with their currency. */
function conversionValue(event: Event, properties: Properties): object | null {
  const { value, currency } = commerceOf(event, properties);
  return value === null || currency === null ? null : { currencyCode: currency, amount: String(value) };
}

/**
 * An event in the form of LinkedIn's Conversions API, or why it is not sent: `no_conversion_rule` (the site's settings name
 * none for it) or `insufficient_user_data` (neither an e-mail nor a click id).
 */
export function mapEvent(entry: EventEntry, context: MapContext<Settings>): MapResult {
  const { event } = entry;
  const { mappedEventName, identifiers, properties } = context;
  if (mappedEventName === null) return { kind: 'skip', reason: 'no_conversion_rule' };
  const ids = userIds(identifiers, properties);
  if (ids.length === 0) return { kind: 'skip', reason: 'insufficient_user_data' };
  const form = present({
    conversion: `urn:lla:llaPartnerConversion:${mappedEventName}`,
    conversionHappenedAt: happenedAtMs(event),
    conversionValue: conversionValue(event, properties),
    eventId: context.dedupId,
    user: { userIds: ids },
  });
  return { kind: 'mapped', form, group: '' };
}
