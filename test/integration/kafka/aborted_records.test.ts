import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTopic, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();

type Open = Awaited<ReturnType<typeof open>>;

/** A transaction with one record in it. */
async function open(topic: string, value: string) {
  const producer = kafka().kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ partition: 0, value }] });
  return { transaction, close: () => producer.disconnect() };
}

const ENDS: [what: string, order: (transactions: Open[]) => Open[]][] = [
  ['in the order they began', (all) => all],
  ['in the opposite order', (all) => all.toReversed()],
];

test.for(ENDS)('no record of overlapping transactions that are aborted %s is read', async ([, order]) => {
  const topic = await createTopic(kafka().kafka, 'aborted', 1);
  const doomed = [await open(topic, 'aborted 1'), await open(topic, 'aborted 2'), await open(topic, 'aborted 3')];
  const kept = await open(topic, 'committed');
  for (const { transaction } of order(doomed)) await transaction.abort();
  await kept.transaction.commit();
  for (const { close } of [...doomed, kept]) await close();
  expect(valuesOf(await readCommitted(kafka().kafka, topic, 1))).toEqual(['committed']);
});
