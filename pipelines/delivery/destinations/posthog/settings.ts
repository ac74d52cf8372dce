import { type Static, Type } from 'typebox';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

/** PostHog's own clouds; the first is the default. */
export const CLOUD_URLS: readonly string[] = ['https://us.i.posthog.com', 'https://eu.i.posthog.com'];

export const POSTHOG_SCHEMA = Type.Object({
  api_key: secretField({ title: 'Project API key', description: 'Begins with phc_.' }),
  include_client_ip: choiceField(['yes', 'no'], {
    title: "Include the visitor's IP address",
    description: 'PostHog derives the place from it.',
    default: 'yes',
  }),
  event_names: Type.Optional(eventNamesField('Event names', "PostHog's names for events of yours.")),
  base_url: textField({
    title: 'Address',
    called: true,
    description: 'https://us.i.posthog.com, https://eu.i.posthog.com, or your own instance.',
    pattern: '^https?://[^\\s?#]+$',
    default: 'https://us.i.posthog.com',
  }),
});

export type PosthogSettings = Static<typeof POSTHOG_SCHEMA>;
