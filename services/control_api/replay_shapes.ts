import { type Static, Type } from 'typebox';
import { closed, idField, metaFields, nullable, pageFields, timeField } from './fields.ts';

const destination = idField('The kind of destination, such as meta or webhook');
const source = Type.Enum(['events', 'dead_letters'], {
  description: 'The events themselves, or the dead letters of the destination',
});
const RATE_MAX = 100_000;
const rate = Type.Integer({ description: 'Events per second at the most', minimum: 1, maximum: RATE_MAX });
const force = Type.Boolean({ description: 'Send also what is known as delivered or waits on a lane' });
const dryRun = Type.Boolean({ description: 'Only count' });
const wanted = Type.Enum(['running', 'paused', 'cancelled'], { description: 'What is wanted of it' });
const count = (description: string) => Type.Integer({ description, minimum: 0 });

export const replayParams = closed({ replay_id: idField('The replay') });
export const replayQuery = closed({
  destination: Type.Optional(idField('Only replays of this kind of destination')),
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
  created_at: timeField('When it was asked for'),
  state: Type.Enum(['waiting', 'counting', 'sending', 'draining', 'paused', 'done', 'cancelled', 'failed'], {
    description: 'What it does. draining: all is written, and delivery takes it',
  }),
  detail: Type.String({ description: 'What it waits for, or why it failed: a stable code; else empty' }),
  share_read: nullable(Type.Number(), { description: 'Of the range, in counting or sending: from 0 to 1' }),
  seen: count('Events of the destination and site among what was read'),
  delivered: count('Of these, left out as the destination has them'),
  pending: count('Of these, left out as they wait on a lane'),
  unreadable: count('Records that cannot be read, or dead letters that were cut'),
  chosen: count('Of these, to be sent; while sending, written for delivery'),
  skipped_before: count(
    'Of those chosen, skipped by delivery the last time; whether they are skipped again is decided when they are sent',
  ),
  to_send: nullable(count('What counting found'), { description: 'Null before its end' }),
  found: nullable(
    Type.Object({
      delivered: count('Left out as the destination has them'),
      pending: count('Left out as they wait on a lane'),
      unreadable: count('Records that cannot be read, or dead letters that were cut'),
      skipped_before: count('Of those to be sent, skipped by delivery the last time'),
    }),
    {
      description:
        'What counting found beside that; null before its end. The other counts are of what is read while sending',
    },
  ),
  estimate_ms: nullable(Type.Integer(), { description: 'How long the rest takes at this rate; null while not known' }),
  not_reached: count('Offsets of the range that delivery has yet to reach by itself; left to it'),
  started_at: nullable(timeField('When it was taken up')),
  updated_at: nullable(timeField('When it last went on')),
  ...metaFields,
});
export type ReplayItem = Static<typeof replayShape>;
