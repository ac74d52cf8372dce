import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { partsConfig } from '#infra/config/service_config.ts';
import { createLogger } from '#infra/log/logger.ts';
import { choosePorts } from '#services/local/parts/part.ts';
import { type LocalAddresses, type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { adminTokenFile, serviceEnvironment } from '#services/local/start/config.ts';
import { controlSpec, deliverySpecs, processSpecs, replicated } from '#services/local/start/processes.ts';
import type { ProcessSpec } from '#services/local/start/supervisor.ts';
import { provision } from '#services/stage/provision.ts';
import type { ClickhouseShards } from '#test/harness/clickhouse_shards.ts';
import { discard } from '#test/harness/parts.ts';
import type { RedisCluster } from '#test/harness/redis_cluster.ts';
import { type ClickhouseProxy, startClickhouseProxy } from './clickhouse_proxy.ts';
import type { EarlierVersion } from './earlier_version.ts';
import { createFleet, type Fleet } from './fleet.ts';
import type { Layout } from './layout.ts';
import { type Platforms, platformEnvironment } from './platforms.ts';
import type { SmallDisk } from './small_disk.ts';

/** Real processes on real parts, every one of which a row may break. */
export interface World {
  dataDir: string;
  /** What the settings' editor of the tests wants to know. */
  ready: { control: string; adminTokenFile: string; clickhouse: string };
  parts: LocalParts;
  addresses: LocalAddresses;
  fleet: Fleet;
  proxy: ClickhouseProxy;
  edges: string[];
  standins: { meta: string; webhook: string };
  eventPartitions: number;
  layout: Layout;
  special: Special;
  /** The variables every process of the service gets. */
  env: Readonly<Record<string, string>>;
  /** Ends everything at once; nothing that was in it is wanted any more. */
  stop(): Promise<void>;
}

/** What only some worlds have; it runs before the world does. */
export interface Special {
  redis?: RedisCluster;
  shards?: ClickhouseShards;
  /** Where the broker's folder is on a disk of its own. */
  disk?: SmallDisk;
  /** Where destinations' platforms are elsewhere for all sites. */
  platforms?: Platforms;
  /** What the service begins as, where it is to be upgraded. */
  earlier?: EarlierVersion;
}

export interface WorldOptions {
  dataDir: string;
  layout: Layout;
  special: Special;
  /** Further variables of every process. */
  env?: Readonly<Record<string, string>>;
  onProgress(line: string): void;
}

const HOST = '127.0.0.1';
const EDGES = 2;
const EVENT_PARTITIONS = 4;
/** Of each stage that a transaction of its own has, where two processes share the work. */
const SHARED_GROUP_SIZE = 2;
const DESTINATIONS = ['meta', 'webhook'];
/** The shortest that the service takes: a killed process's partitions are away for so long. */
const SESSION_TIMEOUT_MS = 6_000;

/** Brings up the parts and the service: two edges, every stage, both stand-ins, a proxy before the first server of ClickHouse. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { dataDir, layout, special } = options;
  const logDir = join(dataDir, 'log');
  mkdirSync(logDir, { recursive: true });
  const parts = await startParts({
    dataDir,
    external: external(special),
    brokers: layout.brokers,
    onProgress: options.onProgress,
    onPartExit: () => undefined,
  });
  const proxy = await startClickhouseProxy(parts.addresses.clickhouseUrl);
  const fleet = createFleet(logDir);
  const stop = async (): Promise<void> => {
    await fleet.killAll();
    await proxy.stop();
    await discard(parts);
  };
  try {
    const env = {
      ...(await serviceEnvironment(dataDir, parts.addresses)),
      ...processEnvironment(options),
      ...options.env,
    };
    const mismatches = special.earlier === undefined ? await provisionNow(env) : provisionFrom(special.earlier, env);
    if (mismatches.length > 0) throw new Error(mismatches.join('; '));
    const ports = await choosePorts(dataDir, ['edge', 'edge2', 'control', 'metaStandin', 'webhookStandin']);
    const kinds = [controlSpec(env, ports), ...processSpecs(env, ports, dataDir), ...deliverySpecs(env, DESTINATIONS)];
    const specs = replicated(kinds, (kind) => (ONCE.has(kind) ? 1 : layout.processes), []);
    const [standins, processes] = [true, false].map((isStandin) =>
      specs.filter(({ name }) => (name === 'standin') === isStandin),
    ) as [ProcessSpec[], ProcessSpec[]];
    const edgePorts = [ports.edge, ports.edge2];
    await Promise.all([
      fleet.start(standins),
      fleet.start(
        processes.flatMap((spec) => placed(spec, proxy.url, edgePorts)),
        special.earlier?.root,
      ),
    ]);
    const url = (port: number): string => `http://${HOST}:${port}`;
    return {
      dataDir,
      ready: {
        control: url(ports.control),
        adminTokenFile: adminTokenFile(dataDir),
        clickhouse: parts.addresses.clickhouseUrl,
      },
      parts,
      addresses: parts.addresses,
      fleet,
      proxy,
      edges: [url(ports.edge), url(ports.edge2)],
      standins:
        special.platforms === undefined
          ? { meta: url(ports.metaStandin), webhook: url(ports.webhookStandin) }
          : { meta: special.platforms.meta.url, webhook: special.platforms.webhook.url },
      eventPartitions: EVENT_PARTITIONS,
      layout,
      special,
      env,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes what this version has in the parts. Returns what is there otherwise than declared, and was left as it is. */
export async function provisionNow(env: Readonly<Record<string, string>>): Promise<string[]> {
  return (await provision(partsConfig(env), createLogger('provision', 'warn'))).mismatches;
}

const PROVISIONED_MS_MAX = 120_000;

function provisionFrom({ root }: EarlierVersion, env: Readonly<Record<string, string>>): string[] {
  const words = [join(root, 'services/provision/main.ts')];
  const options = { env, encoding: 'utf8', timeout: PROVISIONED_MS_MAX } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, words, options);
  return status === 0 ? [] : [`the version before did not provision: ${stdout}${stderr}`];
}

/** Edges are two in every world; nobody needs a second of the others. */
const ONCE: ReadonlySet<string> = new Set(['edge', 'control', 'standin']);

function external({ redis, shards }: Special): Partial<LocalAddresses> {
  return {
    ...(redis === undefined ? {} : { redisUrl: redis.url }),
    ...(shards === undefined ? {} : { clickhouseUrl: shards.url }),
  };
}

function processEnvironment({ layout, special: { platforms, shards } }: WorldOptions): Record<string, string> {
  return {
    EVENT_PARTITIONS: String(EVENT_PARTITIONS),
    KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    LOG_LEVEL: 'info',
    ...(layout.processes === 1 ? {} : { TRANSACTION_PARTITION_GROUP_SIZE: String(SHARED_GROUP_SIZE) }),
    // As in production, but for the platforms' addresses: an outage is a whole destination's.
    ...(platforms === undefined ? {} : platformEnvironment(platforms)),
    ...(shards === undefined
      ? {}
      : { CLICKHOUSE_CLUSTER: shards.cluster.name, CLICKHOUSE_REPLICATED: String(shards.cluster.isReplicated) }),
  };
}

/** The edge becomes two; the warehouse reaches ClickHouse through the proxy. */
function placed(spec: ProcessSpec, clickhouseUrl: string, edgePorts: readonly number[]): ProcessSpec[] {
  if (/^warehouse\b/.test(spec.name)) return [{ ...spec, env: { ...spec.env, CLICKHOUSE_URL: clickhouseUrl } }];
  if (spec.name !== 'edge') return [spec];
  return edgePorts.slice(0, EDGES).map((port, index) => ({
    ...spec,
    name: `edge.${index + 1}`,
    env: { ...spec.env, EDGE_PORT: String(port) },
  }));
}
