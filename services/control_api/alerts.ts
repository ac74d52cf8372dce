// Schemas of alerts, of how they are, and of what fired.

import { type Static, Type } from 'typebox';
import { alertShape } from '#pipelines/alerts/alert.ts';
import { closed, countField, idField, type Meta, metaFields, nullable, timeField } from './fields.ts';

const revision = Type.Integer({ minimum: 1, description: 'Counts what it said so far' });

export const alertItemShape = Type.Object({ ...alertShape.properties, revision, ...metaFields });
export type AlertItem = Static<typeof alertShape> & Meta & { revision: number };

const figure = nullable(Type.Number(), { description: 'The figure, of shares in percent; null: it cannot be said' });
const base = nullable(Type.Number(), { description: 'What it was compared with' });
const from = nullable(timeField('Begin of its interval'), { description: 'Of a state as to: when it was looked at' });
const to = nullable(timeField('End of its interval'));

const alertStateShape = Type.Object({
  alert_id: idField('The alert'),
  status: Type.Enum(['waiting', 'ok', 'firing', 'paused'], {
    description: 'waiting: no interval that began after it was made, or changed, is over yet',
  }),
  since: timeField('Since when'),
  waits_until: nullable(timeField('When the first interval is over that it can judge'), {
    description: 'Null unless it is waiting for one',
  }),
  value: figure,
  base,
  from,
  to,
  problem: Type.String({ description: 'Why it could not be judged the last time, by a stable code; else empty' }),
  looked_at: timeField('When it was looked at; written once an hour where nothing is new'),
});
export type AlertStateItem = Static<typeof alertStateShape>;
export const alertStatesShape = Type.Object({ items: Type.Array(alertStateShape, { description: 'By alert' }) });

const sendShape = Type.Object({
  channel: idField('The channel'),
  kind: Type.String({ description: 'email, slack or webhook' }),
  shown: Type.String({ description: 'Where to, without the address' }),
  state: Type.Enum(['due', 'sending', 'sent', 'given_up']),
  attempts: countField('Calls that were begun'),
  due_at: timeField('When the next is due; later in quiet hours'),
  done_at: nullable(timeField('When it was sent, or given up')),
  reason: Type.String({ description: 'Why the last was no success, by a stable code; else empty' }),
  is_repeated: Type.Boolean({ description: 'The answer to one was lost: it may have arrived twice, by the same id' }),
});

export const firedShape = Type.Object({
  fired_id: Type.String({ description: 'The same in every message about it' }),
  alert_id: idField('The alert'),
  name: Type.String({ description: 'Of the alert, as it was then' }),
  kind: Type.String({ description: 'Of the alert' }),
  is: Type.Enum(['fired', 'recovered', 'test']),
  at: timeField('When it was found'),
  ...{ from, to, value: figure, base },
  condition: Type.Record(Type.String(), Type.Unknown(), { description: 'As it was then' }),
  interval: Type.String({ description: 'Of the figure; empty where it has none' }),
  detail: Type.String({ description: 'Such as the destinations that fail' }),
  sends: Type.Array(sendShape, { description: 'Who is told' }),
});
export type FiredItem = Static<typeof firedShape>;
export const firedListShape = Type.Object({ items: Type.Array(firedShape, { description: 'The newest first' }) });

const FIRED_MAX = 200;
export const FIRED_ITEMS = 100;
export const firedQuery = closed({
  alert: Type.Optional(idField('Only of this alert')),
  limit: Type.Optional(Type.Integer({ description: 'How many', minimum: 1, maximum: FIRED_MAX, default: FIRED_ITEMS })),
});

export const alertParams = closed({ site_id: idField('The site it belongs to'), id: idField('Its id') });
