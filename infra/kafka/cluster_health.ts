// Whether the cluster answers, and whether its topics have the partitions that this process is configured for.

import { createProbe, type Probe, type ProbeTimes, repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Admin, Kafka } from './client.ts';
import type { TopicDeclaration } from './topics.ts';

const PROBE: ProbeTimes = { intervalMs: 2_000, answerMsMax: 3_000, giveUpMs: 60_000 };

export async function openAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await admin.connect();
  return admin;
}

/**
 * Probes the cluster. A client that hangs is replaced by another, so that one request without an answer does not make the
 * cluster count as away for ever.
 */
export function watchCluster(open: () => Promise<Pick<Admin, 'describeCluster' | 'disconnect'>>): Probe {
  let admin: ReturnType<typeof open> | null = null;
  const describe = async (): Promise<void> => {
    admin ??= open();
    await (await admin).describeCluster();
  };
  const close = (): void => {
    // A client that hangs, or was never opened, is not waited for.
    void admin?.then((one) => one.disconnect()).catch(() => undefined);
    admin = null;
  };
  return createProbe(describe, PROBE, { onFailure: close, onStop: close });
}

const LOOK_MS = 10_000;

interface PartitionMismatch {
  topic: string;
  configured: number;
  found: number;
}

/** Topics that are there with another number of partitions than declared. Those that are not there are provisioning's matter. */
export function mismatchesOf(
  declared: readonly Pick<TopicDeclaration, 'name' | 'partitions'>[],
  found: ReadonlyMap<string, number>,
): PartitionMismatch[] {
  return declared.flatMap(({ name: topic, partitions: configured }) => {
    const count = found.get(topic) ?? configured;
    return count === configured ? [] : [{ topic, configured, found: count }];
  });
}

/**
 * Compares the topics' partitions with the configured ones, now and every ten seconds, and logs what differs whenever that changes.
 * More than configured is logged alone: all of them are read, and a process that is configured for fewer loses nothing, so that
 * partitions can be added while the service runs. While Kafka does not answer the last answer counts.
 */
export async function watchPartitions(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  declared: readonly Pick<TopicDeclaration, 'name' | 'partitions'>[],
  logger: Pick<Logger, 'error' | 'info'>,
  lookMs = LOOK_MS,
) {
  let mismatches: PartitionMismatch[] = [];

  async function look(): Promise<void> {
    const { topics } = await admin.fetchTopicMetadata();
    const found = mismatchesOf(declared, new Map(topics.map(({ name, partitions }) => [name, partitions.length])));
    const isNew = JSON.stringify(found) !== JSON.stringify(mismatches);
    mismatches = found;
    if (!isNew) return;
    if (found.length === 0) logger.info('all topics have the configured partitions again');
    else logger.error({ mismatches: found }, 'topics have other partitions than configured: see EVENT_PARTITIONS');
  }

  const tell = (error: unknown): void => logger.info({ err: error }, 'partition counts of topics unavailable');
  await look().catch(tell);
  return {
    /** What differs, more partitions as well. */
    mismatches: (): readonly PartitionMismatch[] => mismatches,
    /** Topics with fewer partitions than this process writes to: what it chooses the others for cannot be stored. */
    lacking: (): readonly PartitionMismatch[] => mismatches.filter(({ configured, found }) => found < configured),
    stop: repeat(look, () => lookMs, tell),
  };
}
