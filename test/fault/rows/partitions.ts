import { Kafka, logLevel } from 'kafkajs';
import { growTopics } from '#infra/kafka/provision.ts';
import { EVENT_TOPICS } from '#infra/kafka/topics.ts';
import { until } from '#test/harness/until.ts';
import type { Row } from '../row.ts';
import type { World } from '../world/fault_world.ts';
import { flushAll } from './parts.ts';

const CALM_REQUESTS_PER_SECOND = 20;

async function grow(world: World, count: number): Promise<void> {
  const admin = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.createPartitions({ topicPartitions: EVENT_TOPICS.map((topic) => ({ topic, count })) });
  } finally {
    await admin.disconnect();
  }
  world.eventPartitions = count;
}

/** Starts processes again with another number of partitions, one after the other. */
async function reconfigure(world: World, names: readonly string[], partitions: number): Promise<void> {
  for (const name of names) await world.fleet.restart(name, { EVENT_PARTITIONS: String(partitions) });
}

const isEdge = (name: string): boolean => name.startsWith('edge.');

/**
 * Partitions are added under load, as docs/operations.md says: to the topics first, then the processes are told, edges last. From
 * then on an event that is sent again comes by another partition than before; last, dedup's index is made again of old partitions
 * and new ones.
 */
export const PARTITIONS_ADDED: Row = {
  name: 'partitions.added',
  place: 'growing',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  resends: true,
  async fault(context) {
    const { world, untilSent, ledger, events, say } = context;
    await untilSent(events / 4);
    const partitions = world.eventPartitions + 2;
    const kafka = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
    // Fails where the stages do not have them within a minute, which is far less than the client's own five.
    await growTopics({ kafka, prefix: 'svc', count: partitions, say, nowMs: () => performance.now() });
    world.eventPartitions = partitions;
    await untilSent(ledger.size() + events / 4);
    const names = world.fleet.names();
    await reconfigure(world, [...names.filter((name) => !isEdge(name)), ...names.filter(isEdge)], partitions);
    await untilSent(ledger.size() + events / 4);
    await flushAll(context);
    await untilSent(ledger.size() + events / 4);
  },
};

/** The wrong way round: the processes are told of partitions that are added to the topics only then, one topic after the other. */
export const PARTITIONS_BELIEVED: Row = {
  name: 'partitions.believed',
  place: 'growing',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  resends: true,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 4);
    const partitions = world.eventPartitions + 2;
    const names = world.fleet.names();
    await reconfigure(
      world,
      names.filter((name) => !isEdge(name)),
      partitions,
    );
    await reconfigure(world, names.filter(isEdge), partitions);
    const edges = names.filter(isEdge);
    await until(
      'the edges to say that partitions are lacking',
      () => lacking(world, edges),
      (all) => all.every(Boolean),
    );
    // What they cannot store is refused meanwhile: before long every client is at such an event.
    await until('events that are not acknowledged', () => ledger.ids('unknown').size > 0);
    await grow(world, partitions);
    await untilSent(ledger.size() + events / 4);
    await until(
      'all to be ready again',
      () => lacking(world, edges),
      (all) => !all.some(Boolean),
    );
  },
};

/** Whether each process says that it waits for partitions. */
function lacking(world: World, names: readonly string[]): Promise<boolean[]> {
  return Promise.all(
    names.map(async (name) => {
      const response = await fetch(new URL('/ready', world.fleet.metricsUrl(name) ?? 'http://127.0.0.1:1'));
      return ((await response.json()) as { waiting_for: string[] }).waiting_for.includes('partitions');
    }),
  );
}
