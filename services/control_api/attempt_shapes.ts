import { type Static, Type } from 'typebox';
import { closed, nullable, timeField } from './fields.ts';

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
  as_of: timeField('When ClickHouse was asked'),
});
