// Kafka, registry, Redis and ClickHouse on this machine: installed, started in order, and restarted.

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { planClickhouse } from './clickhouse/clickhouse.ts';
import {
  credentialsOf,
  credentialsPath,
  type KafkaListeners,
  LOCAL_PROCESS_USERS,
  readListeners,
  SCRAM_FIRST,
  writeListeners,
} from './clickhouse/users.ts';
import {
  brokersFormatted,
  ensureJava,
  installKafka,
  installRegistry,
  type JavaProgram,
  type KafkaNode,
  planKafka,
  planRegistry,
} from './kafka.ts';
import { choosePorts, LocalPart, type PartName, type PartPlan, type RunningName } from './part.ts';
import { installRedis, planRedis } from './redis.ts';
import { LocalError, whileLocked } from './tools.ts';

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

interface Parts extends Partial<Record<PartName, LocalPart>> {
  /** Brokers beside the first one. */
  [broker: `kafka.${number}`]: LocalPart;
}

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
  onPartExit: (name: RunningName, detail: string) => void;
  /** Brokers of Kafka, one cluster. Default: as many as the data folder has, else 1. */
  brokers?: number | undefined;
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

/** The brokers among parts that run here. */
export const brokersIn = (parts: Parts): LocalPart[] =>
  Object.entries(parts).flatMap(([name, part]) => (/^kafka\b/.test(name) ? [part] : []));
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
    const registryThenKafka = Promise.resolve(parts.registry?.stop()).then(() => stopBrokers(brokersIn(parts)));
    await Promise.all([registryThenKafka, parts.clickhouse?.stop(), parts.redis?.stop()]);
  };
  try {
    await startInOrder(parts, onProgress);
  } catch (error) {
    await stop();
    throw error;
  }
  const own = (name: PartName) =>
    name === 'kafka' ? brokersIn(parts).map((broker) => broker.address) : [parts[name]?.address ?? ''];
  const address = (name: PartName) => external[ADDRESS_OF[name]] ?? own(name).join();
  const addresses = Object.fromEntries(PART_NAMES.map((name) => [ADDRESS_OF[name], address(name)]));
  return { addresses: addresses as unknown as LocalAddresses, parts, stop };
}

const PORTS = ['registry', 'registryHealth', 'redis', 'clickhouse'] as const;

async function planParts(
  dataDir: string,
  wanted: ReadonlySet<PartName>,
  { kafka, registry, redis }: Programs,
  { external, redisDatabases, brokers }: StartPartsOptions,
): Promise<PartPlan[]> {
  const ports = await choosePorts(dataDir, PORTS);
  const nodes = kafka === undefined ? [] : await kafkaNodes(dataDir, brokers);
  const logOf = ({ name }: KafkaNode): string => join(dataDir, 'log', `${name}.log`);
  const bootstrap = external.kafkaBrokers ?? nodes.map(({ port }) => `127.0.0.1:${port}`).join();
  const plans = [
    ...(await Promise.all(nodes.map(async (node) => kafka && (await planKafka(node, logOf(node), kafka))))),
    registry && planRegistry(dataDir, ports, bootstrap, registry),
    redis && planRedis(dataDir, ports.redis, redis, redisDatabases),
    wanted.has('clickhouse') ? planClickhouse(dataDir, ports.clickhouse) : undefined,
  ];
  return plans.filter((plan) => plan !== undefined);
}

/**
 * The brokers, on which each process may be a user of its own.
 *
 * @throws LocalError where the data is of another number of them: neither copies nor the quorum follow by themselves.
 */
async function kafkaNodes(dataDir: string, wanted: number | undefined): Promise<KafkaNode[]> {
  const folder = join(dataDir, 'kafka');
  const there = brokersFormatted(folder);
  const count = wanted ?? there ?? 1;
  if (there !== null && there !== count) {
    throw new LocalError(
      'local_brokers_differ',
      `the data in ${folder} is of ${there} broker(s) and cannot become that of ${count}: ` +
        `start with --brokers ${there}, or with another folder (LOCAL_DIR)`,
    );
  }
  mkdirSync(folder, { recursive: true });
  const users = LOCAL_PROCESS_USERS.map(({ user }) => user);
  credentialsOf(credentialsPath(dataDir, 'kafka'), users);
  const suffixes = Array.from({ length: count }, (_, index) => (index === 0 ? '' : String(index + 1)));
  const chosen = await choosePorts(
    dataDir,
    suffixes.flatMap((suffix) => [`kafka${suffix}`, `kafkaController${suffix}`, `kafkaSasl${suffix}`]),
  );
  const ports = (name: string): number[] => suffixes.map((suffix) => chosen[`${name}${suffix}`] as number);
  const listeners: KafkaListeners = {
    brokers: ports('kafka')
      .map((port) => `127.0.0.1:${port}`)
      .join(),
    saslBrokers: ports('kafkaSasl')
      .map((port) => `127.0.0.1:${port}`)
      .join(),
    mechanism: readListeners(dataDir)?.mechanism ?? SCRAM_FIRST,
  };
  writeListeners(dataDir, listeners);
  const controllerPorts = ports('kafkaController');
  return ports('kafka').map((port, index) => {
    const name = index === 0 ? ('kafka' as const) : (`kafka.${index + 1}` as const);
    const saslPort = ports('kafkaSasl')[index] as number;
    return { name, nodeId: index + 1, folder: join(dataDir, name), port, controllerPorts, saslPort };
  });
}

/**
 * Where several stop at once the last finds no quorum any more, without which none ends by itself: it has handed everything on by
 * then, or has it on disk.
 */
async function stopBrokers(brokers: readonly LocalPart[]): Promise<void> {
  const left = new Set(brokers);
  const ends = brokers.map(async (broker) => {
    await broker.stop();
    left.delete(broker);
    if (left.size <= brokers.length / 2) for (const other of left) other.kill('SIGKILL');
  });
  await Promise.all(ends);
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
    // None of several brokers is ready before most of them are.
    Promise.all(brokersIn(parts).map(start)).then(() => start(parts.registry)),
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
