import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

export const DEFAULT_BASE_URL = 'https://api.pinterest.com';

export const PINTEREST_SCHEMA = Type.Object({
  ad_account_id: textField({
    title: 'Ad account id',
    description: 'Digits only; shown in Ads Manager.',
    pattern: '^\\d{5,20}$',
  }),
  access_token: secretField({
    title: 'Conversion access token',
    description: 'Made in Ads Manager under Conversions.',
  }),
  event_names: Type.Optional(
    eventNamesField('Event names', "Pinterest's names for events of yours.", 'quiz_done=lead', '[a-z][a-z_]{1,40}'),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type PinterestSettings = Static<typeof PINTEREST_SCHEMA>;
