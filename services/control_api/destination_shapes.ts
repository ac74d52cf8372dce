import { type Static, Type } from 'typebox';
import { closed, idField, metaFields, nullable, pageFields } from './fields.ts';

const name = idField('The kind of destination, such as meta or webhook');
const siteId = idField('The site it belongs to');
const enabled = Type.Boolean({ description: 'Whether events are sent to it' });
const NAME_PATTERN = '^[a-z0-9_-]{1,64}$';
const VALUE_CHARACTERS_MAX = 10_000;
const value = Type.String({ maxLength: VALUE_CHARACTERS_MAX });
const named = (description: string) => Type.Record(Type.String({ pattern: NAME_PATTERN }), value, { description });
const namedOrRemoved = (description: string) =>
  Type.Record(Type.String({ pattern: NAME_PATTERN }), nullable(value), { description });

export const destinationQuery = closed({
  site_id: Type.Optional(idField('Only destinations of this site')),
  ...pageFields,
});
export const destinationParams = closed({ site_id: siteId, name });

/** Secrets can be written and never read. */
export const newDestination = closed({
  name,
  enabled: Type.Optional(enabled),
  settings: Type.Optional(named('Settings by their names')),
  secrets: Type.Optional(named('Secrets by their names; they are sealed before they are stored')),
});
export const destinationChange = closed({
  enabled: Type.Optional(enabled),
  settings: Type.Optional(namedOrRemoved('Settings to set, or null to remove; those not named are kept')),
  secrets: Type.Optional(namedOrRemoved('Secrets to set, or null to remove; those not named are kept')),
});

export const destinationShape = Type.Object({
  site_id: siteId,
  name,
  enabled,
  settings: Type.Record(Type.String(), Type.String()),
  secrets: Type.Array(Type.String(), {
    description: 'Names of the secrets that are stored; their values are not shown',
  }),
  ...metaFields,
});
export type DestinationItem = Static<typeof destinationShape>;

export const kindsShape = Type.Object({
  items: Type.Array(
    Type.Object({
      name,
      title: Type.String(),
      schema: Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON schema of its settings and secrets' }),
    }),
  ),
});

const eventName = Type.String({
  description: 'Name of the event that is sent; platforms map it as they map an event of that name',
  minLength: 1,
  maxLength: 200,
  default: 'page_view',
});
export const testBody = closed({
  event: Type.Optional(eventName),
  test_event_code: Type.Optional(
    Type.String({
      description:
        'Of the platform, in the place of the one in the settings; where it takes one, the event does not count',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
});

/** What a destination made of a test event. */
export const testShape = Type.Object({
  event_id: Type.String({ description: 'By which it is found at the platform' }),
  event: eventName,
  outcome: Type.Enum(['delivered', 'skipped', 'diverted', 'dead', 'paused'], {
    description: 'As of any event: diverted would be tried again, paused waits for settings',
  }),
  reason: Type.String({ description: 'Why, where it was not delivered: a stable code; else empty' }),
  detail: Type.String({ description: 'More of that, for people' }),
  took_ms: Type.Integer({ minimum: 0 }),
  as_test: Type.Boolean({ description: 'Whether the platform was told that it is a test' }),
  answer: nullable(Type.Object({ status: Type.Integer({ description: 'Of HTTP' }), body: Type.String() }), {
    description: 'The begin of what the platform answered, without secrets and personal data; null where it did not',
  }),
});
export type TestAnswer = Static<typeof testShape>;
