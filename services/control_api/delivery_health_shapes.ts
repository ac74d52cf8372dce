import { type Static, Type } from 'typebox';
import { closed, idField, nullable, timeField } from './fields.ts';

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const spread = (description: string) => Type.Object({ p50: Type.Number(), p99: Type.Number() }, { description });

export const healthShape = Type.Object({
  site_id: Type.String(),
  destination: Type.String(),
  state: Type.Enum(['delivering', 'failing', 'waits_for_settings', 'idle'], {
    description:
      'By the newest attempt; waits_for_settings: credentials that the platform refuses, or settings that are missing',
  }),
  reason: Type.String({ description: 'Why, where it is not delivering: a stable code; else empty' }),
  attempts: count('Events attempted'),
  delivered: count('Of these, delivered'),
  diverted: count('Of these, put on a lane for another attempt'),
  dead: count('Of these, given up; an event that died twice counts twice'),
  failed: count('Events that died in the last 24 hours and are dead still: what was delivered since is not counted'),
  paused: count('Events put on a lane without an attempt'),
  waiting: count('Events that wait on a lane now; those that wait in the main topic are lag, not counted here'),
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
  destination: Type.Optional(idField('Only this kind of destination')),
});
