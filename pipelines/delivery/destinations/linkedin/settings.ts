import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

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
