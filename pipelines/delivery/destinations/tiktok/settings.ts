import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

export const DEFAULT_BASE_URL = 'https://business-api.tiktok.com';

export const TIKTOK_SCHEMA = Type.Object({
  pixel_code: textField({
    title: 'Pixel code',
    description: 'Of the website, shown in Events Manager.',
    pattern: '^[A-Z0-9]{10,30}$',
  }),
  access_token: secretField({
    title: 'Access token',
    description: 'Made in Events Manager, in the settings of the pixel.',
  }),
  offline_event_set_id: Type.Optional(
    textField({
      title: 'Offline event set id',
      description:
        'Takes events of shops, phone, chat, email and back offices; without it the last go to the pixel, others are skipped.',
      pattern: '^\\d{5,30}$',
    }),
  ),
  crm_event_set_id: Type.Optional(
    textField({
      title: 'CRM event set id',
      description: 'Takes back-office events that carry a lead_id; without it they go to the offline event set.',
      pattern: '^\\d{5,30}$',
    }),
  ),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  test_event_code: Type.Optional(
    textField({
      title: 'Test event code',
      description: 'Shows events in the Test Events tab, one to a request: leave this empty in production.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  event_names: Type.Optional(eventNamesField('Event names', "TikTok's names for events of yours.")),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type TiktokSettings = Static<typeof TIKTOK_SCHEMA>;
