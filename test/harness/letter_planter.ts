import { Kafka, logLevel } from 'kafkajs';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { createRegistry } from '#infra/registry/schema_registry.ts';
import { createDeadLetter } from '#pipelines/redelivery/dead_letter.ts';
import type { Event } from '#schemas/event.ts';
import { createBatchWriter, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { SharedService } from './shared_service.ts';

/** Where no event of events.raw stands while tests run. */
const NOWHERE = { partition: 0, offset: 900_000_000, index: 0 };

/** Puts dead letters of the warehouse where it writes them, one for each event, as if it could not have taken them. */
export async function plantDeadLetters(
  { ready }: Pick<SharedService, 'ready'>,
  events: readonly Event[],
  reason: string,
): Promise<void> {
  const registry = createRegistry(ready.registry);
  const topic = deadTopic('warehouse');
  const codec = await createCodec<DeadLetter>(registry, topic, 'dead_letter');
  const schemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const messages = events.map((event, index) => {
    const writer = createBatchWriter(schemaId);
    writer.add({ ...NOWHERE, index }, noPerson(), encodeEvent(event));
    const place = { stage: 'warehouse', topic: TOPICS.identified, ...NOWHERE, index };
    const deadLetter = createDeadLetter(place, 'transform_failed', 'Error', writer.finish(), Date.now());
    return { partition: 0, value: codec.encode({ ...deadLetter, reason }) };
  });
  const kafka = new Kafka({ brokers: ready.kafka.split(','), logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: explicitPartitioner, allowAutoTopicCreation: false });
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages });
  } finally {
    await producer.disconnect();
  }
}
