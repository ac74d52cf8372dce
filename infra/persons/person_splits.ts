import type { Warehouse } from '#infra/clickhouse/client.ts';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { correctSplitRows, countSplitRows, type RowSplit, storeSplit } from '#infra/clickhouse/merge_persons.ts';
import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { createKeyedProducer } from '#infra/kafka/producers.ts';
import { readTopic } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Redis } from '#infra/redis/connection.ts';
import { createIdentityStore, type GroupedPerson } from '#infra/redis/indexes/identity_index.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { type SplitPlan, splitPlan } from '#pipelines/identity/identity.ts';
import { type IdentityLink, linkKey } from '#schemas/records.ts';
import { partitionOf } from '#schemas/wire.ts';

export interface PlannedSplit {
  plan: SplitPlan;
  rows: RowSplit;
  rowCount: number;
}

/** Redis, Kafka or ClickHouse did not answer. The split may have been made or not; it is safe to ask again. */
class PersonSplitsError extends Error {
  readonly code = 'splits_unavailable';
}

export type PersonSplits = ReturnType<typeof createPersonSplits>;

interface SplitParts {
  session: KafkaSession;
  registry: Registry;
  redis: Redis;
  warehouse: Warehouse;
  cluster: Cluster | null;
  logger: Logger;
  nowMs(): number;
}

const WRITE_RETRIES = 8;

export function createPersonSplits({ session, registry, redis, warehouse, cluster, logger, nowMs }: SplitParts) {
  const store = createIdentityStore(redis);
  const codecOf = () => createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');

  async function edgesOf(siteId: string, persons: ReadonlySet<string>): Promise<IdentityLink[]> {
    const codec = await codecOf();
    const edges = new Map<string, IdentityLink>();
    await readTopic(session, TOPICS.links, async ({ key, value }) => {
      if (value === null) {
        edges.delete(key?.toString('utf8') ?? '');
        return;
      }
      const read = await codec.decode(value);
      if (!read.ok || read.value.kind !== 'edge' || read.value.site_id !== siteId) return;
      if (persons.has(read.value.person_id)) edges.set(linkKey(read.value), read.value);
    });
    return [...edges.values()];
  }

  async function write(links: readonly IdentityLink[]): Promise<void> {
    const codec = await codecOf();
    const producer = await createKeyedProducer(createKafka(session.config, 'svc.control.split', logger, WRITE_RETRIES));
    try {
      await producer.send(
        links.map((link) => {
          const key = linkKey(link);
          return {
            topic: TOPICS.links,
            partition: partitionOf(key, session.config.smallPartitions),
            key,
            value: codec.encode(link),
          };
        }),
      );
    } finally {
      await producer.stop();
    }
  }

  return {
    /** All who are one with any of some persons. @throws PersonSplitsError */
    groupsOf: (siteId: string, persons: readonly string[]): Promise<GroupedPerson[]> =>
      failing(() => store.groupsOf(siteId, persons)),
    /**
     * What a split would do, by the edges of identity.links, all of which are read.
     *
     * @param taken Keyed identifiers that go with who is moved.
     * @throws PersonSplitsError
     */
    plan: (
      siteId: string,
      group: readonly GroupedPerson[],
      moved: ReadonlySet<string>,
      taken: ReadonlySet<string>,
    ): Promise<PlannedSplit> =>
      failing(async () => {
        const persons = group.map(({ person }) => person);
        const edges = await edgesOf(siteId, new Set(persons));
        const plan = splitPlan(persons, (person) => moved.has(person), edges, taken);
        const [stayed, taking] = plan.groups;
        const rows: RowSplit = {
          ...{ site_id: siteId, moved: taking, stayed, version: 0, split_at: nowMs() },
          person_id: leaderAmong(group, new Set(taking)),
          former_person_id: leaderAmong(group, new Set(stayed)),
        };
        return { plan, rows, rowCount: await countSplitRows(warehouse, rows) };
      }),
    /** False where they are no longer who they were when it was planned. @throws PersonSplitsError */
    split: ({ plan, rows }: PlannedSplit): Promise<boolean> =>
      failing(async () => {
        const links = await store.split(rows.site_id, plan);
        if (links === null) return false;
        const [{ version } = { version: 0 }] = links;
        await write(links);
        await storeSplit(warehouse, { ...rows, version, split_at: nowMs() });
        await correctSplitRows(warehouse, cluster);
        return true;
      }),
  };
}

/** Who leads of some: the oldest, then the smallest id, as in infra/redis/indexes/identity.lua. */
function leaderAmong(group: readonly GroupedPerson[], persons: ReadonlySet<string>): string {
  const [first] = group
    .filter(({ person }) => persons.has(person))
    .toSorted((a, b) => a.firstSeen - b.firstSeen || (a.person < b.person ? -1 : 1));
  return first?.person ?? '';
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new PersonSplitsError(`person not split: ${error instanceof Error ? error.name : 'error'}`);
  }
}
