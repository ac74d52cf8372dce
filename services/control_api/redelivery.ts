// Schemas of dead letters and replays.

import { type Static, Type } from 'typebox';
import { STAGES } from '#infra/kafka/topics.ts';
import { LETTER_DELIVERIES, LETTER_STATES, RESEND_OUTCOMES } from '#pipelines/redelivery/resend.ts';
import { attemptShape } from './destinations.ts';
import { closed, countField, idField, limitField, metaFields, nullable, pageFields, timeField } from './fields.ts';

/** A letter has 512 KiB at the most, and a transaction is one. */
const LETTERS_AT_ONCE_MAX = 100;
const NOTE_CHARACTERS_MAX = 500;

const deadLetterField = Type.String({
  description: 'The dead letter: STAGE-PARTITION-OFFSET',
  pattern: '^[a-z]{1,20}-\\d{1,5}-\\d{1,15}$',
});
const stageField = Type.Enum([...STAGES], { description: 'The stage that could not take it' });

const nameField = Type.String({ description: 'Its name; empty where the event is damaged' });

const deadLetterFields = {
  id: deadLetterField,
  stage: stageField,
  destination: nullable(Type.String(), { description: 'Of a delivery: where to' }),
  reason: Type.String({ description: 'Why: a stable code' }),
  detail: Type.String({ description: 'Kind of the error, without personal data' }),
  topic: Type.String({ description: 'Where the record, or the event, stands' }),
  partition: Type.Integer(),
  offset: Type.Integer(),
  index: Type.Integer({ description: 'Event in the record; -1: the record as a whole' }),
  died_at: timeField('When it became a dead letter'),
  bytes_total: Type.Integer({ description: 'Size of the record or event before it was cut' }),
  cut: Type.Boolean({ description: 'Only the first 512 KiB are kept: it cannot be sent in again' }),
  resendable: Type.Boolean({ description: 'Whether it could be sent in again: it holds events that can be read now' }),
  resent_at: nullable(timeField('When it was sent in again'), { description: 'Null: it was not' }),
  resolved: nullable(
    Type.Object({
      at: timeField('When that was noted'),
      by: Type.String({ description: 'Who noted it: a user, or the label of an admin token' }),
      note: Type.String({ description: 'Why' }),
    }),
    { description: 'Resolution; null while open' },
  ),
  events: nullable(Type.Integer({ description: 'Events in it' }), { description: 'Null where they cannot be read' }),
  site_ids: Type.Array(Type.String(), { description: 'Whose events it holds; empty where they cannot be read' }),
  event: nullable(Type.Object({ event_id: Type.String(), event: nameField }), {
    description: 'Its only event; null where there are several, or none can be read',
  }),
  delivery: nullable(Type.Enum([...LETTER_DELIVERIES]), {
    description:
      'Of a delivery: what became of its events since. delivered: the destination has them, and the letter is open no more; waiting: tried again by itself; unknown: ClickHouse does not answer. Null: of another stage, or not readable',
  }),
};
export const deadLetterSchema = Type.Object(deadLetterFields);
export type DeadLetterItem = Static<typeof deadLetterSchema>;

const eventShape = Type.Object({
  site_id: Type.String(),
  event_id: Type.String(),
  event: nameField,
  distinct_id: Type.String({ description: 'As the edge has cleaned it' }),
  received_at: timeField('When it arrived'),
});
export const deadLetterDetails = Type.Object({
  ...deadLetterFields,
  sha256: Type.String({ description: 'Of the bytes that are kept' }),
  contents: nullable(Type.Array(eventShape), { description: 'The first 100 events; null where they cannot be read' }),
  attempts: nullable(Type.Array(attemptShape), {
    description:
      "Of a delivery's only event: the attempts at the destination with its answers, the newest first; null where that is not known",
  }),
});
export type DeadLetterDetails = Static<typeof deadLetterDetails>;

export const resendShape = Type.Object({
  items: Type.Array(
    Type.Object({
      id: deadLetterField,
      outcome: Type.Enum([...RESEND_OUTCOMES], {
        description:
          'Of deliveries also: delivered, the destination has it by now; waiting, it is tried again by itself; no_destination, its site has none such that is switched on; replay_runs and not_known, ask again later',
      }),
    }),
  ),
});
export type ResendAnswer = Static<typeof resendShape>;

export const resolveShape = Type.Object({
  items: Type.Array(
    Type.Object({ id: deadLetterField, outcome: Type.Enum(['resolved', 'reopened', 'not_resolved', 'unknown']) }),
  ),
});
export type ResolveAnswer = Static<typeof resolveShape>;

const deadLettersField = Type.Array(deadLetterField, {
  description: 'Dead letters',
  minItems: 1,
  maxItems: LETTERS_AT_ONCE_MAX,
});
export const deadLettersBody = closed({ ids: deadLettersField });
export const resolveBody = closed({
  ids: deadLettersField,
  note: Type.String({
    description: 'Why nothing more is to be done; without personal data',
    minLength: 1,
    maxLength: NOTE_CHARACTERS_MAX,
    pattern: '\\S',
  }),
});
export const deadLetterParams = closed({ letter_id: deadLetterField });
export const deadLetterQuery = closed({
  stage: Type.Optional(stageField),
  reason: Type.Optional(Type.String({ description: 'Only those with this reason', maxLength: 100 })),
  state: Type.Optional(
    Type.Enum([...LETTER_STATES, 'delivered'], {
      description: 'Filter by status: open, resent, resolved, or delivered since',
    }),
  ),
  site_id: Type.Optional(idField('Only those that hold events of this site')),
  destination: Type.Optional(idField('Only those of deliveries to destinations with this id')),
  since: Type.Optional(timeField('Only those that became dead letters from then on')),
  limit: limitField,
  after: Type.Optional(deadLetterField),
});

const destination = idField("The destination's id in its site, such as meta or webhook-crm");
const source = Type.Enum(['events', 'dead_letters'], {
  description: 'The events themselves, or the dead letters of the destination',
});
const RATE_MAX = 100_000;
const rate = Type.Integer({ description: 'Events per second at the most', minimum: 1, maximum: RATE_MAX });
const force = Type.Boolean({ description: 'Send also what is known as delivered or waits on a retry topic' });
const dryRun = Type.Boolean({ description: 'Only count' });
const wanted = Type.Enum(['running', 'paused', 'cancelled'], { description: 'What is wanted of it' });

export const replayParams = closed({ replay_id: idField('The replay') });
export const replayQuery = closed({
  destination: Type.Optional(idField('Only replays to destinations with this id')),
  ...pageFields,
});

export const newReplay = closed({
  destination,
  site_id: Type.Optional(idField('Only events of this site')),
  source: Type.Optional(source),
  from: timeField('From when on'),
  to: timeField('Until when, exclusive; what lies ahead counts as now'),
  rate: Type.Optional(rate),
  dry_run: Type.Optional(dryRun),
  force: Type.Optional(force),
});
export type NewReplayBody = Static<typeof newReplay>;

export const replayChange = closed({ wanted });

export const replayShape = Type.Object({
  replay_id: idField('The replay'),
  destination,
  site_id: nullable(Type.String(), { description: 'Null: every site that has the destination' }),
  source,
  from: timeField('From when on'),
  to: timeField('Until when, exclusive'),
  rate,
  dry_run: dryRun,
  force,
  wanted,
  created_at: timeField('When it was requested'),
  state: Type.Enum(['waiting', 'counting', 'sending', 'draining', 'paused', 'done', 'cancelled', 'failed'], {
    description: 'What it does. draining: all is written, and delivery takes it',
  }),
  detail: Type.String({ description: 'What it waits for, or why it failed: a stable code; else empty' }),
  share_read: nullable(Type.Number(), { description: 'Of the range, in counting or sending: from 0 to 1' }),
  seen: countField('Events of the destination and site among what was read'),
  delivered: countField('Of these, left out as the destination has them'),
  pending: countField('Of these, left out as they wait on a retry topic'),
  unreadable: countField('Records that cannot be read, or dead letters that were cut'),
  chosen: countField('Of these, to be sent; while sending, written for delivery'),
  skipped_before: countField(
    'Of those chosen, skipped by delivery the last time; whether they are skipped again is decided when they are sent',
  ),
  to_send: nullable(countField('What counting found'), { description: 'Null before its end' }),
  found: nullable(
    Type.Object({
      delivered: countField('Left out as the destination has them'),
      pending: countField('Left out as they wait on a retry topic'),
      unreadable: countField('Records that cannot be read, or dead letters that were cut'),
      skipped_before: countField('Of those to be sent, skipped by delivery the last time'),
    }),
    {
      description:
        'What counting found beside that; null before its end. The other counts are of what is read while sending',
    },
  ),
  estimate_ms: nullable(Type.Integer(), { description: 'How long the rest takes at this rate; null while not known' }),
  not_reached: countField('Offsets of the range that delivery has yet to reach by itself; left to it'),
  started_at: nullable(timeField('When it was taken up')),
  updated_at: nullable(timeField('When it last went on')),
  ...metaFields,
});
export type ReplayItem = Static<typeof replayShape>;
