import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { partsConfig } from '#infra/config/service_config.ts';
import { createLogger } from '#infra/log/logger.ts';
import { choosePorts } from '#services/local/parts/part.ts';
import { type LocalAddresses, type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { adminTokenFile, serviceEnvironment } from '#services/local/start/config.ts';
import { controlSpec, deliverySpecs, processSpecs } from '#services/local/start/processes.ts';
import type { ProcessSpec } from '#services/local/start/supervisor.ts';
import { provision } from '#services/stage/provision.ts';
import { discard } from '#test/harness/parts.ts';
import type { RedisCluster } from '#test/harness/redis_cluster.ts';
import { type ClickhouseProxy, startClickhouseProxy } from './clickhouse_proxy.ts';
import { createFleet, type Fleet } from './fleet.ts';
import type { Platforms } from './platforms.ts';
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
  /** Where Redis is a cluster. */
  redis?: RedisCluster;
  /** Where the broker's folder is on a disk of its own. */
  disk?: SmallDisk;
  /** Where destinations' platforms are elsewhere for all sites. */
  platforms?: Platforms;
  /** The variables every process of the service gets. */
  env: Readonly<Record<string, string>>;
  /** Ends everything at once; nothing that was in it is wanted any more. */
  stop(): Promise<void>;
}

export interface WorldOptions {
  dataDir: string;
  onProgress(line: string): void;
  /** Parts that run already, such as a cluster of Redis. */
  external?: Partial<LocalAddresses>;
  brokers?: number;
  env?: Readonly<Record<string, string>>;
}

const HOST = '127.0.0.1';
const EDGES = 2;
const EVENT_PARTITIONS = 4;
const DESTINATIONS = ['meta', 'webhook'];
/** The shortest that the service takes: a killed process's partitions are away for so long. */
const SESSION_TIMEOUT_MS = 6_000;

/** Brings up the parts and the service: two edges, every stage, both stand-ins, a proxy before ClickHouse. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { dataDir } = options;
  const logDir = join(dataDir, 'log');
  mkdirSync(logDir, { recursive: true });
  const parts = await startParts({
    dataDir,
    external: options.external ?? {},
    brokers: options.brokers,
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
    const env = { ...(await serviceEnvironment(dataDir, parts.addresses)), ...processEnvironment(options) };
    const report = await provision(partsConfig(env), createLogger('provision', 'warn'));
    if (report.mismatches.length > 0) throw new Error(report.mismatches.join('; '));
    const ports = await choosePorts(dataDir, ['edge', 'edge2', 'control', 'metaStandin', 'webhookStandin']);
    const specs = [controlSpec(env, ports), ...processSpecs(env, ports, dataDir), ...deliverySpecs(env, DESTINATIONS)];
    await fleet.start(specs.flatMap((spec) => placed(spec, proxy.url, [ports.edge, ports.edge2])));
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
      standins: { meta: url(ports.metaStandin), webhook: url(ports.webhookStandin) },
      eventPartitions: EVENT_PARTITIONS,
      env,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function processEnvironment(options: WorldOptions): Record<string, string> {
  return {
    EVENT_PARTITIONS: String(EVENT_PARTITIONS),
    KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    LOG_LEVEL: 'info',
    ...options.env,
  };
}

/** The edge becomes two; the warehouse reaches ClickHouse through the proxy. */
function placed(spec: ProcessSpec, clickhouseUrl: string, edgePorts: readonly number[]): ProcessSpec[] {
  if (spec.name === 'warehouse') return [{ ...spec, env: { ...spec.env, CLICKHOUSE_URL: clickhouseUrl } }];
  if (spec.name !== 'edge') return [spec];
  return edgePorts.slice(0, EDGES).map((port, index) => ({
    ...spec,
    name: `edge.${index + 1}`,
    env: { ...spec.env, EDGE_PORT: String(port) },
  }));
}
