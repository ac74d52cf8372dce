import { type Admin, type IHeaders, Kafka, logLevel, type Producer } from 'kafkajs';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { replayTopic, retryTopicName } from '#pipelines/delivery/retry_topics.ts';
import { createBatchWriter, decodeEvent, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import { readWire, reservedHeaders, writeWire } from '#schemas/wire.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { endsOf, readBehind } from '../oracle/topics.ts';
import type { Row, RowContext } from '../row.ts';
import type { World } from '../world/fault_world.ts';

/** Topics that stages read, with the stages that must put aside what they cannot read there. */
const TARGETS: { topic: string; stages: string[]; compacted?: true }[] = [
  { topic: TOPICS.raw, stages: ['dedup'] },
  { topic: TOPICS.unique, stages: ['identity'] },
  { topic: TOPICS.counts, stages: ['quota'] },
  { topic: TOPICS.duplicates, stages: ['warehouse'] },
  { topic: TOPICS.identified, stages: ['warehouse', 'delivery', 'delivery'] },
  { topic: TOPICS.outcomes, stages: ['warehouse'] },
  { topic: TOPICS.inventory, stages: ['warehouse'] },
  { topic: TOPICS.links, stages: ['warehouse'], compacted: true },
  { topic: TOPICS.usage, stages: ['warehouse'], compacted: true },
  { topic: retryTopicName('webhook', '5s'), stages: ['delivery'] },
  { topic: replayTopic('webhook'), stages: ['delivery'] },
  { topic: retryTopicName('meta', '1m'), stages: ['delivery'] },
  // Followed by every process as a table: what cannot be read there is passed over.
  { topic: TOPICS.settings, stages: [], compacted: true },
];

const UNKNOWN_SCHEMA = 999_999;
const BIG_BYTES = 5 * 1024 * 1024;

type Kind = 'random_bytes' | 'wrong_magic' | 'unknown_schema' | 'truncated' | 'big' | 'null';

const KINDS: readonly Kind[] = ['random_bytes', 'wrong_magic', 'unknown_schema', 'truncated', 'big', 'null'];

function poison(kind: Kind, schemaId: number, random: Random): Buffer | null {
  const noise = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, () => random.whole(0, 255)));
  switch (kind) {
    case 'random_bytes':
      return Buffer.concat([Buffer.from([0xff]), noise(200)]);
    case 'wrong_magic':
      return Buffer.concat([Buffer.from([1]), writeWire(schemaId, noise(40)).subarray(1)]);
    case 'unknown_schema':
      return writeWire(UNKNOWN_SCHEMA, noise(40));
    case 'truncated':
      // Says that 60 bytes follow, and two do.
      return writeWire(schemaId, Buffer.from([120, 65, 66]));
    case 'big':
      return writeWire(schemaId, Buffer.alloc(BIG_BYTES, noise(1024)));
    case 'null':
      return null;
  }
}

/** Every kind of poison on every topic that is read, while events flow. */
export const POISON: Row = {
  name: 'poison',
  smoke: true,
  requestsPerSecond: 20,
  async fault({ world, random, planted, untilSent, events }) {
    await untilSent(events / 3);
    const kafka = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
    const producer = kafka.producer({ createPartitioner: explicitPartitioner });
    const admin = kafka.admin();
    await Promise.all([producer.connect(), admin.connect()]);
    try {
      for (const { topic, stages, compacted } of TARGETS) {
        const schemaId = await schemaOf(world, topic);
        const partitions = await partitionsOf(admin, topic);
        // On a compacted topic a null is a deletion, and no poison.
        for (const kind of KINDS.filter((one) => one !== 'null' || compacted !== true)) {
          const partition = random.whole(0, partitions - 1);
          const offset = await plant(producer, topic, partition, poison(kind, schemaId, random));
          planted.push({ topic, partition, offset, stages });
        }
      }
    } finally {
      await Promise.all([producer.disconnect(), admin.disconnect()]);
    }
    await untilSent(events / 2);
  },
};

/** So many events are in a record, and one in the midst of them breaks off behind what dedup reads. */
const TOGETHER = 200;
const BROKEN_BYTES = 40;
/** The load goes on meanwhile. */
const LOOKED_MS = 5_000;

/** A poison event among 200 in one record: it alone is put aside, and the others go their way. */
export const POISON_EVENT: Row = {
  name: 'poison.event',
  requestsPerSecond: 20,
  async fault({ world, site, ledger, planted, broken, untilSent, events }) {
    await untilSent(events / 3);
    const kafka = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
    const producer = kafka.producer({ createPartitioner: explicitPartitioner });
    await producer.connect();
    try {
      const { event, sent, partition, schemaId } = await oneOfLoad(world, site.site, ledger);
      const writer = createBatchWriter(schemaId);
      for (let index = 0; index < TOGETHER; index++) {
        const uuid = `${site.site}-together-${index}`;
        const bytes = encodeEvent({ ...event, event_id: uuid });
        const isBroken = index === TOGETHER / 2;
        writer.add(null, noPerson(), isBroken ? bytes.subarray(0, bytes.length - BROKEN_BYTES) : bytes);
        if (isBroken) broken.add(uuid);
        else ledger.note([{ ...sent, uuid }], 'accepted');
      }
      const headers = reservedHeaders(site.account, '');
      const offset = await plant(producer, TOPICS.raw, partition, writer.finish(), headers);
      planted.push({ topic: TOPICS.raw, partition, offset, stages: ['identity'] });
    } finally {
      await producer.disconnect();
    }
    await untilSent(events / 2);
  },
};

/** An event of the row's load as the edge wrote it, and as it was sent. */
async function oneOfLoad({ addresses }: World, site: string, ledger: RowContext['ledger']) {
  const { kafkaBrokers } = addresses;
  const records = await readBehind(kafkaBrokers, await endsOf(kafkaBrokers, [TOPICS.raw]), () => true, LOOKED_MS);
  const sentById = new Map(ledger.entries().map(({ event }) => [event.uuid, event]));
  for (const { partition, value } of records) {
    const wire = readWire(value);
    if (!wire.ok) continue;
    const view = readBatch(wire.body).find(({ siteId, eventId }) => siteId === site && sentById.has(eventId));
    const sent = sentById.get(view?.eventId ?? '');
    if (view === undefined || sent?.event !== 'page_view') continue;
    return { event: decodeEvent(view.eventBytes), sent, partition, schemaId: wire.schemaId };
  }
  throw new Error('no page view of the load is on events.raw');
}

async function schemaOf({ addresses }: World, topic: string): Promise<number> {
  const response = await fetch(`${addresses.registryUrl}/subjects/${topic}-value/versions/latest`);
  return ((await response.json()) as { id: number }).id;
}

async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions.length ?? 1;
}

async function plant(
  producer: Producer,
  topic: string,
  partition: number,
  value: Buffer | null,
  headers: IHeaders = {},
): Promise<number> {
  const [sent] = await producer.send({ topic, acks: -1, messages: [{ partition, key: 'poison', value, headers }] });
  return Number(sent?.baseOffset);
}
