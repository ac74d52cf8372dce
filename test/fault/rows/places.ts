import { Kafka, logLevel } from 'kafkajs';
import { withAdmin } from '#infra/kafka/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { brokersIn, type LocalPart } from '#services/local/parts/parts.ts';
import { until } from '#test/harness/until.ts';
import type { Row } from '../row.ts';
import type { World } from '../world/fault_world.ts';
import { killAndWait, partOf } from './parts.ts';

const DIED_MS = 60_000;
const IN_STEP_MS = 60_000;

/** The broker that leads a partition of accepted events is killed under load; the others lead on. Then who leads it now. */
export const LEADER_OF_THREE_KILLED: Row = {
  name: 'kafka.leader_of_three_killed',
  place: 'three_brokers',
  resends: true,
  async fault({ world, random, untilSent, ledger, events }) {
    await untilSent(events / 4);
    const partition = random.whole(0, world.eventPartitions - 1);
    for (let times = 0; times < 2; times++) {
      const broker = await leaderOf(world, TOPICS.raw, partition);
      await killAndWait(broker);
      await untilSent(ledger.size() + events / 4);
      await broker.start();
      await inStep(world);
    }
    await untilSent(ledger.size() + events / 4);
  },
};

async function leaderOf(world: World, topic: string, partition: number): Promise<LocalPart> {
  const [found] = await topicsOf(world, [topic]);
  const leader = found?.partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? 0;
  const broker = brokersIn(world.parts.parts)[leader - 1];
  if (broker === undefined) throw new Error(`broker ${leader} is none of this world's`);
  return broker;
}

/** Waits until every copy of every partition has all that its leader has. */
async function inStep(world: World): Promise<void> {
  const behind = async (): Promise<string[]> =>
    (await topicsOf(world))
      .filter(({ partitions }) => partitions.some(({ replicas, isr }) => isr.length < replicas.length))
      .map(({ name }) => name);
  await until('all copies in step', behind, (names) => names.length === 0, { timeoutMs: IN_STEP_MS });
}

async function topicsOf({ addresses }: World, topics?: string[]) {
  const kafka = new Kafka({ brokers: addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const found = await withAdmin(kafka, (admin) =>
    admin.fetchTopicMetadata(topics === undefined ? undefined : { topics }),
  );
  return found.topics;
}

/** The broker's disk fills up until it gives up; it is started again when there is room. */
export const DISK_FULL: Row = {
  name: 'kafka.disk_full',
  place: 'small_disk',
  resends: true,
  requestsPerSecond: 60,
  async fault({ world, untilSent, events }) {
    await untilSent(events / 4);
    const { disk } = world;
    if (disk === undefined) throw new Error('this world has no small disk');
    const broker = partOf(world, 'kafka');
    disk.fill();
    await until(
      'the broker gives up',
      () => broker.pid,
      (pid) => pid === undefined,
      { timeoutMs: DIED_MS },
    );
    disk.free();
    await broker.start();
  },
};
