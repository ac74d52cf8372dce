import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

export const DEFAULT_BASE_URL = 'https://tr.snapchat.com';

export const SNAPCHAT_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel id',
    description: 'Of the Snap Pixel, shown in Events Manager.',
    pattern: '^[0-9a-fA-F-]{16,40}$',
  }),
  access_token: secretField({
    title: 'Conversions API token',
    description: 'Made in Business Manager under the pixel.',
  }),
  custom_event: choiceField(
    ['none', 'CUSTOM_EVENT_1', 'CUSTOM_EVENT_2', 'CUSTOM_EVENT_3', 'CUSTOM_EVENT_4', 'CUSTOM_EVENT_5'],
    {
      title: 'Other events',
      description: 'Snapchat takes its own names only: what events without one go as; with none they are skipped.',
      default: 'none',
    },
  ),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  event_names: Type.Optional(
    eventNamesField(
      'Event names',
      "Snapchat's names for events of yours.",
      'quiz_done=SIGN_UP',
      '[A-Z][A-Z0-9_]{1,40}',
    ),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type SnapchatSettings = Static<typeof SNAPCHAT_SCHEMA>;
