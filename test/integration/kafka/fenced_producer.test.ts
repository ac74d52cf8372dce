import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { createTopic, kafkaOf, readCommitted, uniqueName } from '#test/harness/kafka.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();
/** So that the broker takes no batch of as many bytes as the records have together, also compressed. */
const RECORDS = 40_000;
const keyOf = (at: number): string => createHash('sha512').update(String(at)).digest('base64');

test('more records than the broker takes at once are appended all the same', async () => {
  const { brokers, kafka: client } = kafka();
  const topic = await createTopic(client, 'appended', 1, { 'max.message.bytes': '1048588' });
  const producer = await openFencedProducer(kafkaOf(brokers), uniqueName('id'));
  onTestFinished(() => producer.close());
  const value = Buffer.alloc(0);
  await producer.append(
    topic,
    0,
    Array.from({ length: RECORDS }, (_, at) => ({ key: keyOf(at), value })),
  );
  expect(await readCommitted(client, topic, 1)).toHaveLength(RECORDS);
});
