import { onTestFinished } from 'vitest';
import { WATCHDOG_MS } from '#infra/concurrency/time_limits.ts';
import { createSender, type PartitionSender, type SenderOptions } from '#infra/kafka/sender.ts';
import { createTopic, kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import type { KafkaFixture } from './stage_fixture.ts';

export const PARTITIONS = 3;
export const DEADLINE_MS = 3_000;

/** A sender to a topic of its own, until the test ends. */
export async function openSender(
  world: KafkaFixture,
  changes: Partial<SenderOptions> = {},
): Promise<{ topic: string; sender: PartitionSender }> {
  const topic = await createTopic(world.kafka, 'sender', PARTITIONS);
  const sender = await createSender({
    kafka: kafkaOf(world.brokers, uniqueName('sender')),
    topic,
    requestBytesMax: 1024 * 1024,
    queuedBytesMax: 16 * 1024 * 1024,
    deadlineMs: DEADLINE_MS,
    nowMs: Date.now,
    watchdogMs: WATCHDOG_MS,
    isClusterAlive: () => true,
    onFatal(error) {
      throw error;
    },
    ...changes,
  });
  onTestFinished(() => sender.stop());
  return { topic, sender };
}
