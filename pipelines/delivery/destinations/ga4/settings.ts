import { type Static, Type } from 'typebox';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

/** Google's own addresses by where the data is collected. */
export const REGION_URLS = {
  global: 'https://www.google-analytics.com',
  eu: 'https://region1.google-analytics.com',
} as const;

export const GA4_SCHEMA = Type.Object({
  measurement_id: textField({
    title: 'Measurement id',
    description: 'Of the web data stream, as in G-XXXXXXXXXX.',
    pattern: '^G-[A-Z0-9]{4,12}$',
  }),
  api_secret: secretField({
    title: 'API secret',
    description: 'Made in the data stream under Measurement Protocol API secrets.',
  }),
  route: choiceField(['server', 'browser'], {
    title: 'Way of website events',
    description: 'Sent from here, or by the browser itself; GA4 does not deduplicate, so it is never both.',
    default: 'server',
  }),
  region: choiceField(['global', 'eu'], {
    title: 'Collection',
    description: "Google's address, or its address in the European Union.",
    default: 'global',
  }),
  validation: choiceField(['relaxed', 'enforced'], {
    title: 'Validation',
    description: 'Whether Google corrects what does not follow its recommendations, or rejects it.',
    default: 'relaxed',
  }),
  consent: choiceField(['unset', 'granted', 'denied'], {
    title: 'Consent',
    description: 'What is declared for advertising where an event says nothing itself.',
    default: 'unset',
  }),
  include_client_ip: choiceField(['yes', 'no'], {
    title: "Include the visitor's IP address",
    description: 'Google derives the place from it and does not keep it.',
    default: 'yes',
  }),
  event_names: Type.Optional(eventNamesField('Event names', "GA4's names for events of yours.")),
  base_url: Type.Optional(
    textField({
      title: 'Address',
      called: true,
      description: 'In place of the collection address; only for a gateway of your own.',
      pattern: '^https?://[^\\s?#]+$',
    }),
  ),
});

export type Ga4Settings = Static<typeof GA4_SCHEMA>;
