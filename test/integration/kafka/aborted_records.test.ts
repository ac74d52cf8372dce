import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Kafka } from '#infra/kafka/session.ts';
import { kafkaOf } from '#test/harness/kafka.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { readTopics } from '#test/harness/topic.ts';

const brokers = sharedService().ready.kafka;

let kafka: Kafka;
beforeAll(() => {
  kafka = kafkaOf(brokers);
});

type Open = Awaited<ReturnType<typeof open>>;

/** A transaction with one record in it. */
async function open(topic: string, value: string) {
  const producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1 });
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
  const topic = `aborted.${randomUUID()}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const doomed = [await open(topic, 'aborted 1'), await open(topic, 'aborted 2'), await open(topic, 'aborted 3')];
  const kept = await open(topic, 'committed');
  for (const { transaction } of order(doomed)) await transaction.abort();
  await kept.transaction.commit();
  for (const { close } of [...doomed, kept]) await close();
  expect((await readTopics(brokers, [topic])).map(({ value }) => value?.toString())).toEqual(['committed']);
});
