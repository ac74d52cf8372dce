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
import { ensureJava, type Java } from './java.ts';
import { ensureKafka, ensureKafkaArchive, type KafkaNode, type KafkaProgram, planKafka } from './kafka.ts';
import { choosePorts, createPart, type LocalPart, type PartName, type PartPlan } from './part.ts';
import { ensureRedis, planRedis, type RedisProgram } from './redis.ts';
import { ensureRegistry, ensureRegistryArchive, planRegistry, type RegistryProgram } from './registry.ts';

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

export interface LocalParts {
  readonly addresses: LocalAddresses;
  /** The parts that run here; an external one is absent. */
  readonly parts: Partial<Record<PartName, LocalPart>>;
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
  /** Folder of the downloaded parts, shared between data folders. Default: .local/parts of the repository. */
  reuseDownloads?: string;
  /** Brokers of the cluster. */
  kafkaNodes?: 1;
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
const DEFAULT_DOWNLOADS = fileURLToPath(new URL('../../../.local/parts', import.meta.url));

/** Starts the wanted parts, and fetches what is missing. If one cannot start, the others are ended. */
export async function startParts(options: StartPartsOptions): Promise<LocalParts> {
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const names = PART_NAMES.filter((name) => options.external[ADDRESS_OF[name]] === undefined);
  const programs = await installParts(
    resolve(options.reuseDownloads ?? DEFAULT_DOWNLOADS),
    new Set(names),
    options.onProgress,
  );
  const plans = await planParts(dataDir, names, programs, options);
  const { parts, stop } = createParts(plans, options);
  try {
    await startInOrder(parts, options.onProgress);
  } catch (error) {
    await stop();
    throw error;
  }
  return { addresses: addressesOf(plans, options.external), parts, stop };
}

async function planParts(
  dataDir: string,
  names: PartName[],
  programs: Programs,
  { external, redisDatabases }: StartPartsOptions,
): Promise<PartPlan[]> {
  const ports = await choosePorts(dataDir, [
    'kafka',
    'kafkaController',
    'kafkaSasl',
    'registry',
    'registryHealth',
    'redis',
    'clickhouse',
  ]);
  const brokers = external.kafkaBrokers ?? `127.0.0.1:${ports.kafka}`;
  return [
    ...(programs.kafka
      ? [await planKafka(kafkaNode(dataDir, ports), join(dataDir, 'log', 'kafka.log'), programs.kafka)]
      : []),
    ...(programs.registry ? [planRegistry(dataDir, ports, brokers, programs.registry)] : []),
    ...(programs.redis ? [planRedis(dataDir, ports.redis, programs.redis, redisDatabases)] : []),
    ...(names.includes('clickhouse') ? [planClickhouse(dataDir, ports.clickhouse)] : []),
  ];
}

/** One broker, on which each process may be a user of its own. */
function kafkaNode(dataDir: string, ports: Record<'kafka' | 'kafkaController' | 'kafkaSasl', number>): KafkaNode {
  const folder = join(dataDir, 'kafka');
  mkdirSync(folder, { recursive: true });
  const users = LOCAL_PROCESS_USERS.map(({ user }) => user);
  const passwords = credentialsOf(credentialsPath(dataDir, 'kafka'), users);
  const listeners: KafkaListeners = {
    brokers: `127.0.0.1:${ports.kafka}`,
    saslBrokers: `127.0.0.1:${ports.kafkaSasl}`,
  };
  writeFileSync(listenersPath(dataDir), `${JSON.stringify(listeners)}\n`);
  return {
    folder,
    port: ports.kafka,
    controllerPort: ports.kafkaController,
    sasl: { port: ports.kafkaSasl, passwords },
  };
}

function createParts(plans: PartPlan[], options: StartPartsOptions) {
  const parts: Partial<Record<PartName, LocalPart>> = {};
  const restarter = createRestarter(parts, options.onProgress);
  for (const plan of plans) {
    const onExit = (name: PartName, detail: string) => {
      options.onPartExit(name, detail);
      if (options.restartDeadParts === true) restarter.restart(name);
    };
    parts[plan.name] = createPart(plan, onExit, options.onProgress);
  }
  const stop = async () => {
    restarter.cancel();
    const behindEachOther = async () => {
      await parts.registry?.stop();
      await parts.kafka?.stop();
    };
    await Promise.all([behindEachOther(), parts.clickhouse?.stop(), parts.redis?.stop()]);
  };
  return { parts, stop };
}

/** All at the same time, but for the registry, which has its data in Kafka. Awaits all, so that none starts later. */
async function startInOrder(
  parts: Partial<Record<PartName, LocalPart>>,
  onProgress: (line: string) => void,
): Promise<void> {
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

function addressesOf(plans: PartPlan[], external: Partial<LocalAddresses>): LocalAddresses {
  const address = (name: PartName) =>
    external[ADDRESS_OF[name]] ?? plans.find((plan) => plan.name === name)?.address ?? '';
  return {
    kafkaBrokers: address('kafka'),
    registryUrl: address('registry'),
    redisUrl: address('redis'),
    clickhouseUrl: address('clickhouse'),
  };
}

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 30_000;
/** After this long without a crash the next crash counts as the first. */
const CALM_MS = 60_000;

interface Restarter {
  restart(name: PartName): void;
  /** Stops starting parts. */
  cancel(): void;
}

/** Restarts a part that ended, after a pause that doubles while it keeps ending. */
function createRestarter(parts: Partial<Record<PartName, LocalPart>>, onProgress: (line: string) => void): Restarter {
  const timers = new Set<NodeJS.Timeout>();
  let cancelled = false;
  const deaths = new Map<PartName, { count: number; at: number }>();
  const restart = (name: PartName) => {
    if (cancelled) return;
    const last = deaths.get(name);
    const count = last !== undefined && performance.now() - last.at < CALM_MS ? last.count + 1 : 0;
    deaths.set(name, { count, at: performance.now() });
    timers.add(setTimeout(() => void begin(name), Math.min(PAUSE_MS_MIN * 2 ** count, PAUSE_MS_MAX)));
  };
  const begin = async (name: PartName) => {
    try {
      await parts[name]?.start();
      onProgress(`${name} was started again`);
    } catch (error) {
      onProgress(`${name} could not be started again: ${error instanceof Error ? error.message : String(error)}`);
      restart(name);
    }
  };
  const cancel = () => {
    cancelled = true;
    for (const timer of timers) clearTimeout(timer);
  };
  return { restart, cancel };
}

/** Apicurio needs it; Kafka needs 17. */
const REGISTRY_JAVA_MIN = 21;
const KAFKA_JAVA_MIN = 17;

/** What is installed; a part that is not wanted is absent. */
interface Programs {
  kafka?: KafkaProgram;
  registry?: RegistryProgram;
  redis?: RedisProgram;
}

/** Fetches what the wanted parts need and the parts folder does not hold yet. */
export function installParts(
  partsDir: string,
  wanted: ReadonlySet<PartName>,
  onProgress: (line: string) => void,
): Promise<Programs> {
  return whileLocked(partsDir, async () => {
    const redis = wanted.has('redis') ? ensureRedis(partsDir, onProgress) : undefined;
    const [programs, redisProgram] = await Promise.all([installJavaParts(partsDir, wanted, onProgress), redis]);
    return { ...programs, ...(redisProgram === undefined ? {} : { redis: redisProgram }) };
  });
}

/** One Maven run at a time, as two would write into the same local repository. */
async function installJavaParts(
  partsDir: string,
  wanted: ReadonlySet<PartName>,
  onProgress: (line: string) => void,
): Promise<Programs> {
  if (!wanted.has('kafka') && !wanted.has('registry')) return {};
  const java = await ensureJava(partsDir, wanted.has('registry') ? REGISTRY_JAVA_MIN : KAFKA_JAVA_MIN, onProgress);
  const jars = wanted.has('kafka') ? await ensureKafka(partsDir, onProgress) : undefined;
  const [archive, home] = await Promise.all([
    jars === undefined ? [] : ensureKafkaArchive(partsDir, java, jars, onProgress),
    wanted.has('registry') ? ensureRegistry(partsDir, onProgress) : undefined,
  ]);
  const kafka = jars === undefined ? undefined : { java: java.path, jars, archive };
  const registry = home === undefined ? undefined : await registryProgram(partsDir, java, home, kafka, onProgress);
  return { ...(kafka === undefined ? {} : { kafka }), ...(registry === undefined ? {} : { registry }) };
}

/** With an external Kafka there is no class archive: recording it takes Kafka's jars, which are not fetched then. */
async function registryProgram(
  partsDir: string,
  java: Java,
  home: string,
  kafka: KafkaProgram | undefined,
  onProgress: (line: string) => void,
): Promise<RegistryProgram> {
  const archive = kafka === undefined ? [] : await ensureRegistryArchive(partsDir, java, home, kafka, onProgress);
  return { java: java.path, home, archive };
}
