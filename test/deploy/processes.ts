// What is deployed: the processes by name, what each reads, writes to and takes, for every file of deploy/.
import { type ProcessKind, readBy } from '#infra/config/catalogue.ts';
import type { Variable } from '#infra/config/environment.ts';
import { rightsOf, userOf } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

export const NAMES: readonly string[] = DESTINATIONS.map(({ name }) => name);

/** The ports inside of containers; on one host each process needs another one for its metrics. */
export const PORTS = { edge: 8080, control: 8090, metrics: 9464 } as const;

/** Where a part is in the examples: its host in a network of containers, its namespace in Kubernetes, its port. */
export const PART_PORTS = { kafka: 9092, registry: 8080, redis: 6379, clickhouse: 8123 } as const;
export type Part = keyof typeof PART_PORTS;

export interface DeployedProcess {
  /** What containers, Deployments, units and files are called: `edge`, `delivery-meta`. A DNS label. */
  name: string;
  kind: ProcessKind | 'provision';
  /** The parts that it connects to. */
  parts: readonly Part[];
  /** Variables that only this process is given: what is secret, and who it is. */
  own: readonly Variable[];
  /** What Kubernetes keeps free for it, and what it may not exceed. */
  memoryMiB: { request: number; limit: number };
  cpuMillis: number;
}

/** The variables that have a password, a key, or a hash of one in them: never in a ConfigMap, nor in a file of settings. */
export const SECRET_VARIABLES: ReadonlySet<string> = new Set([
  'ALERTS_SMTP_URL',
  'CLICKHOUSE_URL',
  'CONTROL_ANALYSTS_URL',
  'CONTROL_FIRST_PASSWORD_HASH',
  'CONTROL_FIRST_TOKEN_SHA256',
  'CONTROL_OIDC_PROVIDERS',
  'CONTROL_SQL_URL',
  'IDENTITY_FORMER_SECRETS',
  'IDENTITY_KEY',
  'IDENTITY_SECRET',
  'KAFKA_SASL_PASSWORD',
  'REDIS_SECONDARY_URL',
  'REDIS_URL',
  'SECRETS_KEYS',
]);

/** Of no process in production. */
export const NEVER_SET: ReadonlySet<string> = new Set(['FAILPOINT', 'FAILPOINTS_ALLOWED', 'EGRESS_ALLOW_LOOPBACK']);

export const isRequired = ({ facts, nullable }: Variable): boolean => facts.default === undefined && !nullable;

/**
 * Memory as measured: of busy processes with two partitions 130 (replay) to 460 MiB (delivery) were resident. The limit is far above, as
 * Node sizes its heap by half of it. Events cost little CPU: of a thousand a second dedup takes 2 % of a core, and the edge four times
 * that (test/perf/recorded.json); what is kept free is mostly for starting and for catching up.
 */
const SIZES: Record<ProcessKind | 'provision', Pick<DeployedProcess, 'memoryMiB' | 'cpuMillis'>> = {
  edge: { memoryMiB: { request: 384, limit: 1024 }, cpuMillis: 200 },
  control: { memoryMiB: { request: 320, limit: 1024 }, cpuMillis: 100 },
  dedup: { memoryMiB: { request: 448, limit: 1024 }, cpuMillis: 100 },
  identity: { memoryMiB: { request: 448, limit: 1024 }, cpuMillis: 100 },
  quota: { memoryMiB: { request: 384, limit: 1024 }, cpuMillis: 50 },
  warehouse: { memoryMiB: { request: 512, limit: 2048 }, cpuMillis: 100 },
  delivery: { memoryMiB: { request: 384, limit: 1024 }, cpuMillis: 50 },
  replay: { memoryMiB: { request: 192, limit: 512 }, cpuMillis: 20 },
  erasure: { memoryMiB: { request: 256, limit: 1024 }, cpuMillis: 20 },
  alerts: { memoryMiB: { request: 192, limit: 512 }, cpuMillis: 20 },
  provision: { memoryMiB: { request: 256, limit: 512 }, cpuMillis: 100 },
};

function processOf(kind: ProcessKind, destination = ''): DeployedProcess {
  const { redis, clickhouse } = rightsOf(kind, NAMES, destination);
  const variables = readBy(kind, NAMES, destination);
  const isOwn = ({ facts }: Variable): boolean =>
    SECRET_VARIABLES.has(facts.variable) ||
    ['KAFKA_SASL_USERNAME', 'METRICS_PORT', 'ALERTS_MAIL_FROM'].includes(facts.variable);
  return {
    name: destination === '' ? kind : `${kind}-${destination}`,
    kind,
    parts: [
      'kafka',
      'registry',
      ...(redis === null ? [] : ['redis' as const]),
      ...(clickhouse === null ? [] : ['clickhouse' as const]),
    ],
    own: variables.filter(isOwn),
    ...SIZES[kind],
  };
}

/** Those that run for ever, in the order in which they are upgraded: readers first. */
const UPGRADE_ORDER = [
  'control',
  'delivery',
  'replay',
  'erasure',
  'alerts',
  'warehouse',
  'quota',
  'identity',
  'dedup',
  'edge',
] as const;

export const DEPLOYED: readonly DeployedProcess[] = UPGRADE_ORDER.flatMap((kind) =>
  (kind === 'delivery' ? NAMES : ['']).map((destination) => processOf(kind, destination)),
);

/** Provisioning reads what replay reads, but serves no metrics, and logs in as an administrator. */
export const PROVISION: DeployedProcess = {
  ...processOf('replay'),
  name: 'provision',
  kind: 'provision',
  own: processOf('replay').own.filter(({ facts }) => facts.variable !== 'METRICS_PORT'),
  ...SIZES.provision,
};

/** The user that a process is at Kafka, Redis and ClickHouse. */
export function loginOf({ kind, name }: DeployedProcess): string {
  return kind === 'provision' ? 'svc' : userOf(kind, name.slice(name.indexOf('-') + 1));
}

/** The port that callers reach a process at over HTTP; null where nobody calls it. */
export function httpPortOf({ kind }: DeployedProcess): number | null {
  return kind === 'edge' || kind === 'control' ? PORTS[kind] : null;
}
