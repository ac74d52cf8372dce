import avsc from 'avsc';
import { expect, test } from 'vitest';
import { outcomeRows } from '#pipelines/warehouse/block.ts';
import type { DeliveryOutcome, DeliveryOutcomes } from '#schemas/records.ts';
import { schemaType } from '#schemas/schemas.ts';

const type = schemaType('delivery');
const outcome = (event_id: string, answer?: number): DeliveryOutcome => ({
  ...{ event_id, event: 'purchase', coordinate_partition: 1, coordinate_offset: 2, coordinate_index: 3 },
  ...{ outcome: 'delivered', reason: '', received_at: 5, took_ms: 40 },
  ...(answer === undefined ? {} : { answer }),
});
const record = (outcomes: DeliveryOutcome[]): DeliveryOutcomes => ({
  ...{ site_id: 'shop', destination: 'webhook', attempt: 1, attempted_at: 6, outcomes },
});

/** The schema of the version before, which had no answers. */
function olderType() {
  const schema = type.schema() as avsc.schema.RecordType;
  const fields = schema.fields.filter(({ name }) => name !== 'answers');
  const outcomes = fields.find(({ name }) => name === 'outcomes')?.type as { items: avsc.schema.RecordType };
  outcomes.items.fields = outcomes.items.fields.filter(({ name }) => name !== 'answer');
  return avsc.Type.forSchema({ ...schema, fields });
}

test('each outcome is a row with the answer it points to', () => {
  const answers = [{ status: 400, body: 'no such pixel' }];
  const rows = outcomeRows({ ...record([outcome('a', 0), outcome('b', -1)]), answers });
  expect(rows).toEqual([
    { ...rows[0], event_id: 'a', destination: 'webhook', answer_status: 400, answer: 'no such pixel' },
    { ...rows[1], event_id: 'b', destination: 'webhook', answer_status: 0, answer: '' },
  ]);
  expect(rows[0]).not.toHaveProperty('answers');
});

test('a record of the version before is read as one without answers', () => {
  const older = olderType();
  const bytes = older.toBuffer(record([outcome('a')]));
  const read = type.fromBuffer(bytes, type.createResolver(older)) as DeliveryOutcomes;
  expect(outcomeRows(read)).toMatchObject([{ event_id: 'a', took_ms: 40, answer_status: 0, answer: '' }]);
});

test('the version before reads a record with answers, without them', () => {
  const older = olderType();
  const bytes = type.toBuffer({ ...record([outcome('a', 0)]), answers: [{ status: 200, body: 'ok' }] });
  expect(older.fromBuffer(bytes, older.createResolver(type))).toEqual(
    older.fromBuffer(older.toBuffer(record([outcome('a')]))),
  );
});
