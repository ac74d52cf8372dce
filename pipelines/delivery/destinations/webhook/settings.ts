import { type Static, Type } from 'typebox';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';

/** `whsec_` and the base64 of 24 to 64 bytes, as Standard Webhooks asks. */
const SECRET_PATTERN = '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$';

export const WEBHOOK_SCHEMA = Type.Object({
  url: textField({
    title: 'Address',
    called: true,
    description: 'Where events are posted; https, and reachable from the public internet.',
    pattern: '^https?://[^\\s]+$',
  }),
  secret: secretField({
    title: 'Signing secret',
    description: 'whsec_ followed by 24 to 64 bytes in base64.',
    pattern: SECRET_PATTERN,
  }),
  secret_previous: Type.Optional(
    secretField({
      title: 'Previous signing secret',
      description: 'While a secret is being replaced, requests are signed with both.',
      pattern: SECRET_PATTERN,
    }),
  ),
  batch_events_max: textField({
    title: 'Events per request',
    description: 'From 1 to 100. With 1, the body is one event; with more, it is a list of them.',
    pattern: '^([1-9]\\d?|100)$',
    default: '1',
  }),
  event_names: Type.Optional(eventNamesField('Conversion names', 'Your own words for conversion_event.')),
  include_client_ip: choiceField(['no', 'yes'], {
    title: "Include the visitor's IP address",
    default: 'no',
  }),
});

export type WebhookSettings = Static<typeof WEBHOOK_SCHEMA>;
