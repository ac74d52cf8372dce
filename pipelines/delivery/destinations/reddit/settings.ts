import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

export const DEFAULT_BASE_URL = 'https://ads-api.reddit.com';

export const REDDIT_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel id',
    description: 'As in a2_abcdefgh or t2_abcdefgh; shown in Events Manager.',
    pattern: '^[A-Za-z0-9_]{4,40}$',
  }),
  access_token: secretField({
    title: 'Conversion access token',
    description: 'Made in Events Manager under Conversions API.',
  }),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  event_names: Type.Optional(
    eventNamesField('Event names', "Reddit's standard names for events of yours; any other goes as a custom event."),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type RedditSettings = Static<typeof REDDIT_SCHEMA>;
