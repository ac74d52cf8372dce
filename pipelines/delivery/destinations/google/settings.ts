import { type Static, Type } from 'typebox';
import { baseUrlField } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

export const DEFAULT_BASE_URL = 'https://datamanager.googleapis.com';
export const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token';

const ACCOUNT = '^\\d{3}-?\\d{3}-?\\d{4}$';

export const GOOGLE_SCHEMA = Type.Object({
  customer_id: textField({
    title: 'Google Ads account',
    description: 'The customer id of the account that has the conversion actions.',
    pattern: ACCOUNT,
  }),
  login_customer_id: Type.Optional(
    textField({
      title: 'Manager account',
      description: 'Where the service account has its access through a manager account.',
      pattern: ACCOUNT,
    }),
  ),
  event_names: eventNamesField(
    'Conversion actions',
    'Ids of the conversion actions that events count for; an event without one is skipped.',
    'purchase=123456789',
    '\\d{1,20}',
  ),
  service_account_key: secretField({
    title: 'Service account key',
    description: 'The whole JSON key file of a service account that may use the Data Manager API.',
  }),
  consent: choiceField(['unset', 'granted', 'denied'], {
    title: 'Consent',
    description:
      'What is declared for advertising where an event says nothing itself; with denied only events that say granted are sent.',
    default: 'unset',
  }),
  token_url: textField({
    title: 'Token address',
    called: true,
    description: 'Of the OAuth 2 token service; changed only for a gateway of your own.',
    pattern: '^https?://[^\\s?#]+$',
    default: DEFAULT_TOKEN_URL,
  }),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type GoogleSettings = Static<typeof GOOGLE_SCHEMA>;
