import kafkajs, { type Admin, Kafka, logLevel } from 'kafkajs';
import { endsOf, readBehind } from '../oracle/topics.ts';
import type { World } from './fault_world.ts';

/** Closes segments at once, so that the log cleaner may have them, and lets it clean them however little there is to gain. */
const EAGER: Readonly<Record<string, string>> = {
  'segment.ms': '500',
  'min.cleanable.dirty.ratio': '0',
  'min.compaction.lag.ms': '0',
  'max.compaction.lag.ms': '1000',
};
/** DescribeConfigs says so of what was set for the topic itself. */
const TOPIC_CONFIG = 1;
/** Under load a topic is never quiet: long enough to read what the tests have on one. */
const READ_MS = 5_000;

/** Runs `during` while the log cleaner takes all it can of a compacted topic; puts the topic's settings back. */
export async function whileCompacting<T>(world: World, topic: string, during: () => Promise<T>): Promise<T> {
  const kafka = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const before = await ownConfig(admin, topic);
    await setConfig(admin, topic, { ...before, ...EAGER });
    try {
      return await during();
    } finally {
      await setConfig(admin, topic, before);
    }
  } finally {
    await admin.disconnect();
  }
}

/** How many records of each key that begins so there are on a topic. */
export async function recordsByKey(world: World, topic: string, beginning: string): Promise<Map<string, number>> {
  const brokers = world.addresses.kafkaBrokers;
  const starts = new Map([...(await endsOf(brokers, [topic]))].map(([name, ends]) => [name, ends.map(() => 0)]));
  const records = await readBehind(brokers, starts, () => true, READ_MS);
  const counts = new Map<string, number>();
  for (const { key } of records) if (key?.startsWith(beginning)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

async function ownConfig(admin: Admin, topic: string): Promise<Record<string, string>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
  });
  const entries = resources.flatMap(({ configEntries }) => configEntries);
  const own = entries.filter(({ configSource }) => Number(configSource) === TOPIC_CONFIG);
  return Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue]));
}

/** AlterConfigs replaces everything that was set for the topic. */
async function setConfig(admin: Admin, topic: string, config: Readonly<Record<string, string>>): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      },
    ],
  });
}
