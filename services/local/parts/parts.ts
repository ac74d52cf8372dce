// Kafka, registry, Redis and ClickHouse on this machine: installed, started in order, and restarted.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { planClickhouse } from './clickhouse/clickhouse.ts';
import {
  credentialsOf,
  credentialsPath,
  type KafkaListeners,
  LOCAL_PROCESS_USERS,
  listenersPath,
} from './clickhouse/users.ts';
import { whileLocked } from './folder_lock.ts';
import { ensureJava, type JavaProgram } from './java.ts';
import { installKafka, installRegistry, type KafkaNode, planKafka, planRegistry } from './kafka.ts';
import { choosePorts, LocalPart, type PartName, type PartPlan } from './part.ts';
import { installRedis, planRedis } from './redis.ts';

export type { LocalPart, PartName } from './part.ts';

export interface LocalAddresses {
  /** host:port[,host:port] */
  kafkaBrokers: string;
  /** The base of the Confluent API, as http://127.0.0.1:20001/apis/ccompat/v7 */
  registryUrl: string;
  /** redis://user:password@127.0.0.1:20002 */
  redisUrl: string;
  /** http://user:password@127.0.0.1:20003/svc: good for a plain POST of a query and for the client's option `url`. */
  clickhouseUrl: string;
}

type Parts = Partial<Record<PartName, LocalPart>>;

export interface LocalParts {
  readonly addresses: LocalAddresses;
  /** The parts that run here; an external one is absent. */
  readonly parts: Parts;
  /** Ends the parts, the registry before the broker that it uses. */
  stop(): Promise<void>;
}

interface StartPartsOptions {
  /** The folder of everything that the parts write: data, settings, logs, ports. */
  dataDir: string;
  /** Addresses of external parts; these are not started. */
  external: Partial<LocalAddresses>;
  onProgress: (line: string) => void;
  /** Called when a part ended that should run. */
  onPartExit: (name: PartName, detail: string) => void;
  /** Databases of Redis. Default: 1. */
  redisDatabases?: number;
  /** Start a part that died again, after a pause. */
  restartDeadParts?: boolean;
}

const ADDRESS_OF = {
  kafka: 'kafkaBrokers',
  registry: 'registryUrl',
  redis: 'redisUrl',
  clickhouse: 'clickhouseUrl',
} as const satisfies Record<PartName, keyof LocalAddresses>;

const PART_NAMES: PartName[] = ['kafka', 'registry', 'redis', 'clickhouse'];
/** Downloaded programs, shared between data folders. */
const DOWNLOADS = fileURLToPath(new URL('../../../.local/parts', import.meta.url));

/** Starts the wanted parts, and fetches what is missing. If one cannot start, the others are ended. */
export async function startParts(options: StartPartsOptions): Promise<LocalParts> {
  const { external, onProgress } = options;
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const wanted = new Set(PART_NAMES.filter((name) => external[ADDRESS_OF[name]] === undefined));
  const plans = await planParts(dataDir, wanted, await installParts(wanted, onProgress), options);
  const parts: Parts = {};
  for (const plan of plans) {
    parts[plan.name] = new LocalPart(plan, options.onPartExit, onProgress, options.restartDeadParts);
  }
  const stop = async () => {
    const registryThenKafka = Promise.resolve(parts.registry?.stop()).then(() => parts.kafka?.stop());
    await Promise.all([registryThenKafka, parts.clickhouse?.stop(), parts.redis?.stop()]);
  };
  try {
    await startInOrder(parts, onProgress);
  } catch (error) {
    await stop();
    throw error;
  }
  const address = (name: PartName) => external[ADDRESS_OF[name]] ?? parts[name]?.address ?? '';
  const addresses = Object.fromEntries(PART_NAMES.map((name) => [ADDRESS_OF[name], address(name)]));
  return { addresses: addresses as unknown as LocalAddresses, parts, stop };
}

const PORTS = ['kafka', 'kafkaController', 'kafkaSasl', 'registry', 'registryHealth', 'redis', 'clickhouse'] as const;
type Ports = Record<(typeof PORTS)[number], number>;

async function planParts(
  dataDir: string,
  wanted: ReadonlySet<PartName>,
  { kafka, registry, redis }: Programs,
  { external, redisDatabases }: StartPartsOptions,
): Promise<PartPlan[]> {
  const ports = await choosePorts(dataDir, PORTS);
  const brokers = external.kafkaBrokers ?? `127.0.0.1:${ports.kafka}`;
  const plans = [
    kafka && (await planKafka(kafkaNode(dataDir, ports), join(dataDir, 'log', 'kafka.log'), kafka)),
    registry && planRegistry(dataDir, ports, brokers, registry),
    redis && planRedis(dataDir, ports.redis, redis, redisDatabases),
    wanted.has('clickhouse') ? planClickhouse(dataDir, ports.clickhouse) : undefined,
  ];
  return plans.filter((plan) => plan !== undefined);
}

/** One broker, on which each process may be a user of its own. */
function kafkaNode(dataDir: string, ports: Ports): KafkaNode {
  const folder = join(dataDir, 'kafka');
  mkdirSync(folder, { recursive: true });
  const users = LOCAL_PROCESS_USERS.map(({ user }) => user);
  const passwords = credentialsOf(credentialsPath(dataDir, 'kafka'), users);
  const listeners: KafkaListeners = {
    brokers: `127.0.0.1:${ports.kafka}`,
    saslBrokers: `127.0.0.1:${ports.kafkaSasl}`,
  };
  writeFileSync(listenersPath(dataDir), `${JSON.stringify(listeners)}\n`);
  const sasl = { port: ports.kafkaSasl, passwords };
  return { folder, port: ports.kafka, controllerPort: ports.kafkaController, sasl };
}

/** All at the same time, but for the registry, which has its data in Kafka. Awaits all, so that none starts later. */
async function startInOrder(parts: Parts, onProgress: (line: string) => void): Promise<void> {
  const start = async (part: LocalPart | undefined) => {
    if (part === undefined) return;
    const begun = performance.now();
    await part.start();
    onProgress(`${part.name} is ready (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  };
  const outcomes = await Promise.allSettled([
    start(parts.kafka).then(() => start(parts.registry)),
    start(parts.redis),
    start(parts.clickhouse),
  ]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Apicurio needs it; Kafka needs 17. */
const REGISTRY_JAVA_MIN = 21;
const KAFKA_JAVA_MIN = 17;

type Programs = Awaited<ReturnType<typeof installParts>>;

/** Fetches what the wanted parts need and is not there yet; a part that is not wanted is absent. ClickHouse is a package of npm. */
export function installParts(wanted: ReadonlySet<PartName>, onProgress: (line: string) => void) {
  return whileLocked(DOWNLOADS, async () => {
    const [java, redis] = await Promise.all([
      installJavaParts(wanted, onProgress),
      wanted.has('redis') ? installRedis(DOWNLOADS, onProgress) : undefined,
    ]);
    return { ...java, redis };
  });
}

/** One Maven run at a time, as two would write into the same local repository. */
async function installJavaParts(wanted: ReadonlySet<PartName>, onProgress: (line: string) => void) {
  const programs: { kafka?: JavaProgram; registry?: JavaProgram } = {};
  if (!wanted.has('kafka') && !wanted.has('registry')) return programs;
  const java = await ensureJava(DOWNLOADS, wanted.has('registry') ? REGISTRY_JAVA_MIN : KAFKA_JAVA_MIN, onProgress);
  if (wanted.has('kafka')) programs.kafka = { java, folder: await installKafka(DOWNLOADS, onProgress) };
  if (wanted.has('registry')) programs.registry = { java, folder: await installRegistry(DOWNLOADS, onProgress) };
  return programs;
}
