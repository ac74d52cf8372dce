// Schemas of destinations, the attempts of their deliveries, and their health.

import { type Static, Type } from 'typebox';
import { RULES_MAX } from '#pipelines/delivery/destination_id.ts';
import { allOptional, closed, countField, idField, metaFields, nullable, pageFields, timeField } from './fields.ts';

const kind = idField('The kind of destination, such as meta or webhook');
const destinationName = idField(
  'Its id in the site: the kind for the first, or the kind, - and a name, as in webhook-crm',
);
const siteId = idField('The site it belongs to');
const enabled = Type.Boolean({ description: 'Whether events are sent to it' });
const NAME_PATTERN = '^[a-z0-9_-]{1,64}$';
const VALUE_CHARACTERS_MAX = 10_000;
const settingValue = Type.String({ maxLength: VALUE_CHARACTERS_MAX });
const settingsByName = (description: string) =>
  Type.Record(Type.String({ pattern: NAME_PATTERN }), settingValue, { description });
const settingsOrRemovals = (description: string) =>
  Type.Record(Type.String({ pattern: NAME_PATTERN }), nullable(settingValue), { description });

export const destinationQuery = closed({
  site_id: Type.Optional(idField('Only destinations of this site')),
  ...pageFields,
});
export const destinationParams = closed({ site_id: siteId, name: destinationName });

const pattern = Type.String({ minLength: 1, maxLength: 100 });
const ruleFields = {
  events: Type.Array(pattern, {
    description:
      'Names of the events it is for, as sent or as the standard or conversion event they stand for; * is any text, case and separators do not matter. Empty: every event',
    maxItems: 50,
  }),
  send: Type.Boolean({ description: 'Whether they are sent' }),
  rename_to: nullable(pattern, { description: 'The name that they are sent under, mapped like an event of that name' }),
  drop_properties: Type.Array(pattern, {
    description:
      'Properties that are not sent, also value, email and the others that are recognised: utm_*, user.plan, items.price',
    maxItems: 50,
  }),
};
const ruleShape = Type.Object(ruleFields);
export type RuleItem = Static<typeof ruleShape>;
const newRules = Type.Array(closed({ ...allOptional(ruleFields) }), {
  description: 'In order: the first one that is for an event decides. What none is for is sent as it is',
  maxItems: RULES_MAX,
});
export type NewRules = Static<typeof newRules>;

/** Secrets can be written and never read. */
export const newDestination = closed({
  name: destinationName,
  enabled: Type.Optional(enabled),
  settings: Type.Optional(settingsByName('Settings by their names')),
  secrets: Type.Optional(settingsByName('Secrets by their names; they are sealed before they are stored')),
  rules: Type.Optional(newRules),
});
export const destinationChange = closed({
  enabled: Type.Optional(enabled),
  settings: Type.Optional(settingsOrRemovals('Settings to set, or null to remove; those not named are kept')),
  secrets: Type.Optional(settingsOrRemovals('Secrets to set, or null to remove; those not named are kept')),
  rules: Type.Optional(newRules),
});

const PREVIEWED_MAX = 50;
export const previewBody = closed({
  rules: Type.Optional(newRules),
  limit: Type.Optional(
    Type.Integer({ description: 'How many events at the most', minimum: 1, maximum: PREVIEWED_MAX, default: 20 }),
  ),
});
const previewShape = Type.Object({
  event_id: Type.String(),
  event: Type.String({ description: 'Name of the event' }),
  received_at: timeField('When it arrived'),
  rule: nullable(Type.Integer({ description: 'Place of the rule that decided, from 0' }), {
    description: 'Null: none is for it',
  }),
  sent_as: nullable(Type.String(), {
    description: 'The name it is sent under, before the platform’s own; null: it is not sent',
  }),
  skipped: Type.String({ description: 'Why it is not sent: a stable code; else empty' }),
  dropped: Type.Array(Type.String(), { description: 'Paths of properties that it has and that are not sent' }),
});
export type PreviewItem = Static<typeof previewShape>;
export const previewAnswer = Type.Object({
  items: Type.Array(previewShape, {
    description:
      'The newest events, of the last hour or else of the last seven days; what the platform needs is not judged',
  }),
});
export type PreviewAnswer = Static<typeof previewAnswer>;

export const destinationShape = Type.Object({
  site_id: siteId,
  name: destinationName,
  kind,
  enabled,
  settings: Type.Record(Type.String(), Type.String()),
  secrets: Type.Array(Type.String(), {
    description: 'Names of the secrets that are stored; their values are not shown',
  }),
  rules: Type.Array(ruleShape),
  ...metaFields,
});
export type DestinationItem = Static<typeof destinationShape>;

export const kindsShape = Type.Object({
  items: Type.Array(
    Type.Object({
      name: kind,
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

const spread = (description: string) => Type.Object({ p50: Type.Number(), p99: Type.Number() }, { description });

export const healthShape = Type.Object({
  site_id: Type.String(),
  destination: Type.String(),
  state: Type.Enum(['delivering', 'failing', 'waits_for_settings', 'idle'], {
    description:
      'By the newest attempt; waits_for_settings: credentials that the platform refuses, or settings that are missing',
  }),
  reason: Type.String({ description: 'Why, where it is not delivering: a stable code; else empty' }),
  attempts: countField('Events attempted'),
  delivered: countField('Of these, delivered'),
  diverted: countField('Of these, put on a retry topic for another attempt'),
  dead: countField('Of these, given up; an event that died twice counts twice'),
  failed: countField(
    'Events that died in the last 24 hours and are dead still: what was delivered since is not counted',
  ),
  paused: countField('Events put on a retry topic without an attempt'),
  waiting: countField(
    'Events that wait on a retry topic now; those that wait in the main topic are lag, not counted here',
  ),
  skipped: Type.Record(Type.String(), Type.Integer(), { description: 'Events left out, by reason' }),
  delivered_at: nullable(timeField('When an event was last delivered')),
  failed_at: nullable(timeField('When one last was not')),
  failed_reason: Type.String({ description: 'Why it was not; empty where none failed' }),
  took_ms: spread('Time of the calls'),
  age_ms: spread('From arrival at the edge until the attempt that delivered'),
});
export type HealthItem = Static<typeof healthShape>;

export const healthQuery = closed({
  site_id: Type.Optional(idField('Only this site')),
  destination: Type.Optional(idField('Only destinations with this id')),
});

const OUTCOMES = ['delivered', 'skipped', 'diverted', 'paused', 'dead'] as const;
const ATTEMPTS_MAX = 500;

export const attemptsQuery = closed({
  outcome: Type.Optional(
    Type.Enum([...OUTCOMES], {
      description: 'Only attempts that came to this; without it all but events that were left out on purpose',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ description: 'How many at the most', minimum: 1, maximum: ATTEMPTS_MAX, default: 50 }),
  ),
});

export const attemptShape = Type.Object({
  event_id: Type.String(),
  event: Type.String({ description: 'Name of the event' }),
  attempt: Type.Integer({ description: 'From 1' }),
  attempted_at: timeField('When it was made'),
  outcome: Type.Enum([...OUTCOMES], {
    description: 'diverted will be tried again; paused waits, for settings or for the platform; dead was given up',
  }),
  reason: Type.String({ description: 'Stable code; empty where delivered' }),
  took_ms: Type.Integer({ description: 'Time of the call; 0 where none was made' }),
  answer: nullable(
    Type.Object({
      status: Type.Integer({ description: 'Of HTTP' }),
      body: Type.String({
        description: 'The first 256 characters, without personal data, digests, addresses and secrets',
      }),
    }),
    { description: "The platform's answer; null where there was none" },
  ),
});
export type AttemptItem = Static<typeof attemptShape>;

export const attemptsShape = Type.Object({
  items: Type.Array(attemptShape, { description: 'Of the last 30 days, the newest first' }),
  as_of: timeField('When ClickHouse was queried'),
});
