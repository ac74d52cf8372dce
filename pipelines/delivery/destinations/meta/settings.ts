import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import {
  checkedField,
  choiceField,
  eventNamesField,
  secretField,
  textField,
} from '#pipelines/delivery/setting_fields.ts';
import { readRoutePixels } from '#pipelines/settings/destination_settings.ts';

/** Graph API version; Meta keeps each one for at least two years for this API. */
const DEFAULT_VERSION = 'v25.0';
export const DEFAULT_BASE_URL = 'https://graph.facebook.com';

export const META_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel or dataset id',
    description: 'Digits only; shown in Events Manager.',
    pattern: '^\\d{5,20}$',
  }),
  access_token: secretField({
    title: 'Access token',
    description: 'A token that may send events to this pixel, made in Events Manager under Settings.',
  }),
  test_event_code: Type.Optional(
    textField({
      title: 'Test event code',
      description: 'Shows events in the Test Events tab. They still count: leave this empty in production.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  version: textField({
    title: 'Graph API version',
    pattern: '^v\\d{1,3}\\.\\d{1,2}$',
    default: DEFAULT_VERSION,
  }),
  event_source_url: Type.Optional(
    textField({
      title: 'Fallback page address',
      description: 'Used for website events that carry no page address, which Meta requires of them.',
      pattern: '^https?://[^\\s]+$',
    }),
  ),
  data_processing: choiceField(['unset', 'none', 'ldu_geolocate', 'ldu_california'], {
    title: 'Limited data use',
    description:
      'What is declared where an event says nothing itself: nothing, no limits, limits where Meta locates the person, or the limits of California.',
    default: 'unset',
  }),
  route_pixels: Type.Optional(
    checkedField(
      {
        title: 'Pixels for some pages',
        description:
          'A JSON array of {"pixel_id", "url_pattern"}: events of pages that match go to that pixel, with the same access token.',
      },
      (value) => readRoutePixels(value) !== null,
    ),
  ),
  event_names: Type.Optional(eventNamesField('Event names', "Meta's names for events of yours.")),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type MetaSettings = Static<typeof META_SCHEMA>;
