import { Kafka, logLevel } from 'kafkajs';
import { withAdmin } from '#infra/kafka/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { brokersIn, type LocalPart } from '#services/local/parts/parts.ts';
import { until } from '#test/harness/until.ts';
import type { Ledger } from '../load/load_ledger.ts';
import { deliveredCount } from '../oracle/deliveries.ts';
import type { Row } from '../row.ts';
import type { World } from '../world/fault_world.ts';
import type { Fleet } from '../world/fleet.ts';
import { killAndWait, partOf } from './parts.ts';

const CALM_REQUESTS_PER_SECOND = 30;
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

/** A machine that is busy takes longer to hand leaders on than edges wait by default, which is no more than their clients like. */
const PATIENT_MS = 30_000;

/** Every broker is restarted, one after the other, as an upgrade of Kafka goes: no client is told no. */
export const BROKERS_ROLLED: Row = {
  name: 'kafka.rolled',
  place: 'three_brokers',
  resends: true,
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  async before({ world: { fleet } }) {
    for (const edge of edgesOf(fleet)) await fleet.restart(edge, { EDGE_ACKNOWLEDGE_MS: String(PATIENT_MS) });
  },
  async after({ world: { fleet } }) {
    for (const edge of edgesOf(fleet)) await fleet.restart(edge);
  },
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 8);
    for (const broker of brokersIn(world.parts.parts)) {
      await ended(broker);
      await untilSent(ledger.size() + events / 8);
      await broker.start();
      await inStep(world);
      await untilSent(ledger.size() + events / 8);
    }
    noneTurnedAway(ledger);
  },
};

const edgesOf = (fleet: Fleet): string[] => fleet.names().filter((name) => name.startsWith('edge.'));

function noneTurnedAway(ledger: Ledger): void {
  const answers = ledger.turnedAway();
  if (answers.length > 0)
    throw new Error(`${answers.length} requests were not accepted: ${[...new Set(answers)].join(', ')}`);
}

/** Under load a broker takes its time to hand everything on; one that is cut short leaves partitions without a leader. */
export async function ended(broker: LocalPart): Promise<void> {
  broker.kill('SIGTERM');
  await until(
    `${broker.name} to end`,
    () => broker.pid,
    (pid) => pid === undefined,
    { timeoutMs: DIED_MS },
  );
}

const GOES_ON_MS = 60_000;

/**
 * One shard is killed and stays away while events flow: they are accepted and delivered, and all rows wait, as a block may have
 * some on any shard. When it is back each is there once.
 */
export const SHARD_AWAY: Row = {
  name: 'clickhouse.shard_away',
  place: 'shards',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  async fault({ world, site, untilSent, ledger, events, random }) {
    await untilSent(events / 4);
    const { servers } = world.special.shards ?? { servers: [] };
    const shard = servers[random.whole(0, servers.length - 1)];
    if (shard === undefined) throw new Error('this world has no shards');
    await killAndWait(shard);
    await untilSent(ledger.size() + events / 4);
    const accepted = ledger.ids('accepted').size;
    await until(
      'events to be delivered without the shard',
      () => deliveredCount(world.standins.webhook, site.scopes.webhook),
      (count) => count >= accepted,
      { timeoutMs: GOES_ON_MS },
    );
    await shard.start();
    await untilSent(ledger.size() + events / 4);
    noneTurnedAway(ledger);
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
export async function inStep(world: World): Promise<void> {
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
    const { disk } = world.special;
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
