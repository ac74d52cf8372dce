import { type Static, Type } from 'typebox';
import { nullable, timeField } from './fields.ts';

const count = (description: string) => Type.Integer({ description, minimum: 0 });

const stageShape = Type.Object({
  stage: Type.String({ description: 'Name of the stage; delivery.NAME for each destination that a site has' }),
  consumers: count('Consumers that take records for it now; without one nothing gets done'),
  lag: nullable(count('Records, and marks of transactions, that it has still to take'), {
    description: 'Null where it never took one',
  }),
  waits_longer_than_ms: nullable(count('The oldest of these is older than so much'), {
    description: 'In steps of 10 s, 1 min, 10 min, 1 h and 6 h; null: younger than the first, or nothing waits',
  }),
  on_lanes: count('Of a delivery: records that wait on a lane to be tried again'),
  rate: nullable(Type.Number({ description: 'Records a second that it took lately' }), {
    description: 'Null until it was looked at twice',
  }),
});
export type StageItem = Static<typeof stageShape>;

export const stagesShape = Type.Object({
  items: Type.Array(stageShape),
  as_of: timeField('When Kafka was asked'),
  not_seen: Type.Array(Type.String(), { description: 'What is not seen from here, and where it is' }),
});
export type StagesAnswer = Static<typeof stagesShape>;
