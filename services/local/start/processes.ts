// The processes of a local start, and the variables each gets.
import { PROCESSES, type ProcessKind, readBy } from '#infra/config/catalogue.ts';
import { userOf } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { ProcessLogins } from '../parts/clickhouse/users.ts';
import type { ProcessSpec } from './supervisor.ts';

interface LocalPorts {
  edge: number;
  control: number;
  metaStandin: number;
  webhookStandin: number;
}

/**
 * Memory of the edge, which saturates a core when it is busy. A larger young generation, as most of a request's objects die
 * before they are ever moved; room for Kafka's buffers before the first full collection; and collections on the
 * process's own thread, as helpers beside it cost a fifth more CPU for the same requests (1.9 s per million events).
 */
export const EDGE_NODE_ARGS = ['--max-semi-space-size=32', '--initial-old-space-size=256', '--single-threaded-gc'];

/**
 * Memory of the stages. They hold little, but pass much through buffers outside the heap, and by default each 64 MB of those
 * make V8 collect the whole heap: more full collections than young ones, and a third of dedup's and identity's CPU time. Counted
 * with the heap's own limit, which is five times what lives, they are collected with the young generation. On the process's
 * own thread, as for the edge. At 8,000 events/s: dedup 24.9 -> 17 CPU seconds per million events, identity 23.8 -> 14.5.
 */
const STAGE_NODE_ARGS = [
  '--max-semi-space-size=32',
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=400',
  '--single-threaded-gc',
];

/** The process that settings are changed through. */
export function controlSpec(env: Readonly<Record<string, string>>, ports: LocalPorts): ProcessSpec {
  return {
    name: 'control',
    file: 'services/control/main.ts',
    env: { CONTROL_EDGE_URL: `http://127.0.0.1:${ports.edge}`, ...env, CONTROL_PORT: String(ports.control) },
  };
}

/** The pages of the demo shop, which carry the tag of an edge with a browser key. */
export function shopSpec(
  env: Readonly<Record<string, string>>,
  port: number,
  tag: { edge: string; key: string },
): ProcessSpec {
  const args = ['--port', String(port), '--edge', tag.edge, '--key', tag.key];
  return { name: 'shop', file: 'services/local/shop/main.ts', args, env };
}

/** The other processes but for the deliveries, and the stand-in platforms the demo sites deliver to. */
export function processSpecs(env: Readonly<Record<string, string>>, ports: LocalPorts, dataDir: string): ProcessSpec[] {
  return [
    {
      name: 'standin',
      file: 'services/local/platforms/main.ts',
      args: [
        '--meta-port',
        String(ports.metaStandin),
        '--webhook-port',
        String(ports.webhookStandin),
        '--state-dir',
        `${dataDir}/standin`,
      ],
      env,
    },
    {
      name: 'edge',
      file: 'services/edge/main.ts',
      nodeArgs: EDGE_NODE_ARGS,
      env: { ...env, EDGE_PORT: String(ports.edge) },
    },
    { name: 'dedup', file: 'services/dedup/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'quota', file: 'services/quota/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'identity', file: 'services/identity/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'warehouse', file: 'services/warehouse/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
  ];
}

/** The process that carries replays out. */
export function replaySpec(env: Readonly<Record<string, string>>): ProcessSpec {
  return { name: 'replay', file: 'services/redelivery/main.ts', env };
}

/** The delivery processes of destinations. */
export function deliverySpecs(env: Readonly<Record<string, string>>, destinations: readonly string[]): ProcessSpec[] {
  return destinations.map((destination) => ({
    name: `delivery.${destination}`,
    file: 'services/delivery/main.ts',
    env: { ...env, DELIVERY_DESTINATION: destination },
  }));
}

type Variables = Readonly<Record<string, string>>;

const NAMES = DESTINATIONS.map(({ name }) => name);

/** The kind of a process of `npm start` by its name, as `delivery.meta`; null for those that are no part of the service. */
function kindOf(name: string): ProcessKind | null {
  const [first] = name.split('.');
  return PROCESSES.find((kind) => kind === first) ?? null;
}

function namesRead(kind: ProcessKind, destination: string): Set<string> {
  return new Set(
    readBy(kind, NAMES, destination).flatMap(({ facts: { variable, formerly } }) =>
      formerly === undefined ? [variable] : [variable, formerly],
    ),
  );
}

/** Every variable that some process reads. */
const READ: ReadonlySet<string> = new Set(
  PROCESSES.flatMap((kind) => (kind === 'delivery' ? NAMES : ['']).flatMap((name) => [...namesRead(kind, name)])),
);

/**
 * What a process gets of the environment that all have: of the service's variables those that it reads, so that no secret goes where
 * it is not used, and at the parts that run here the login of its own user.
 */
export function processEnvironment(name: string, env: Variables, logins: ProcessLogins): Record<string, string> {
  const kind = kindOf(name);
  const destination = name.slice(name.indexOf('.') + 1);
  const own = kind === null ? new Set<string>() : namesRead(kind, destination);
  const kept = Object.fromEntries(Object.entries(env).filter(([variable]) => own.has(variable) || !READ.has(variable)));
  return kind === null ? kept : { ...kept, ...loginOf(userOf(kind, destination), kept, logins) };
}

function loginOf(user: string, env: Variables, { kafka, redis, clickhouse }: ProcessLogins): Record<string, string> {
  const { REDIS_URL: redisUrl, CLICKHOUSE_URL: clickhouseUrl } = env;
  return {
    ...(kafka === null
      ? {}
      : {
          KAFKA_BROKERS: kafka.brokers,
          KAFKA_SASL_MECHANISM: 'plain',
          KAFKA_SASL_USERNAME: user,
          KAFKA_SASL_PASSWORD: kafka.passwords[user] ?? '',
        }),
    ...(redis === null || redisUrl === undefined ? {} : { REDIS_URL: asUser(redisUrl, user, redis) }),
    ...(clickhouse === null || clickhouseUrl === undefined
      ? {}
      : { CLICKHOUSE_URL: asUser(clickhouseUrl, user, clickhouse) }),
  };
}

function asUser(address: string, user: string, passwords: Variables): string {
  const url = new URL(address);
  url.username = user;
  url.password = passwords[user] ?? '';
  return url.href;
}

interface DeliveriesOptions {
  table: Pick<SettingsTable, 'destinations'>;
  /** Names of the destinations that may run. */
  wanted: readonly string[];
  /** Those that run though no site may have them yet. */
  always: readonly string[];
  /** Resolves when the processes of the destinations are ready. */
  start(names: readonly string[]): Promise<void>;
}

interface Deliveries {
  /** Starts the delivery of each destination that some site has by now and that does not run yet. */
  startConfigured(): Promise<void>;
}

/**
 * Delivery processes as they are needed: a destination that no site has takes no memory on a small machine. One that
 * was started runs on, as its lanes may hold events.
 */
export function createDeliveries({ table, wanted, always, start }: DeliveriesOptions): Deliveries {
  const started = new Set<string>();
  return {
    async startConfigured() {
      const configured = new Set([...always, ...table.destinations().map(({ name }) => name)]);
      const names = wanted.filter((name) => configured.has(name) && !started.has(name));
      for (const name of names) started.add(name);
      if (names.length > 0) await start(names);
    },
  };
}
