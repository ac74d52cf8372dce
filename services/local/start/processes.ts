// The processes of a local start, and the variables each gets.

import { PROCESSES, type ProcessKind, readBy } from '#infra/config/catalogue.ts';
import { userOf } from '#infra/rights/process_rights.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { asUser, type ProcessLogins } from '../parts/clickhouse/users.ts';
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
export const STAGE_NODE_ARGS = [
  '--max-semi-space-size=32',
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=400',
  '--single-threaded-gc',
];

type Variables = Readonly<Record<string, string>>;

export function controlSpec(env: Variables, ports: LocalPorts): ProcessSpec {
  const own = { CONTROL_EDGE_URL: `http://127.0.0.1:${ports.edge}`, ...env, CONTROL_PORT: String(ports.control) };
  return { name: 'control', file: 'services/control/main.ts', env: own };
}

/** The pages of the demo shop, which carry the tag of an edge with a browser key. */
export function shopSpec(env: Variables, port: number, tag: { edge: string; key: string }): ProcessSpec {
  const args = ['--port', String(port), '--edge', tag.edge, '--key', tag.key];
  return { name: 'shop', file: 'services/local/shop/main.ts', args, env };
}

const STAGES = ['dedup', 'quota', 'identity', 'warehouse'] as const;

/** The other processes but for the deliveries, and the stand-in platforms the demo sites deliver to. */
export function processSpecs(env: Variables, ports: LocalPorts, dataDir: string): ProcessSpec[] {
  const standins = ['--meta-port', String(ports.metaStandin), '--webhook-port', String(ports.webhookStandin)];
  const args = [...standins, '--state-dir', `${dataDir}/standin`];
  const edge = { CONTROL_PUBLIC_URL: `http://127.0.0.1:${ports.control}`, ...env, EDGE_PORT: String(ports.edge) };
  return [
    { name: 'standin', file: 'services/local/platforms/main.ts', args, env },
    { name: 'edge', file: 'services/edge/main.ts', nodeArgs: EDGE_NODE_ARGS, env: edge },
    ...STAGES.map((name) => ({ name, file: `services/${name}/main.ts`, nodeArgs: STAGE_NODE_ARGS, env })),
  ];
}

export function replaySpec(env: Variables): ProcessSpec {
  return { name: 'replay', file: 'services/redelivery/main.ts', env };
}

export function erasureSpec(env: Variables): ProcessSpec {
  return { name: 'erasure', file: 'services/erasure/main.ts', env };
}

export function alertsSpec(env: Variables): ProcessSpec {
  return { name: 'alerts', file: 'services/alerts/main.ts', env };
}

export function deliverySpecs(env: Variables, destinations: readonly string[]): ProcessSpec[] {
  return destinations.map((destination) => ({
    name: `delivery.${destination}`,
    file: 'services/delivery/main.ts',
    env: { ...env, DELIVERY_DESTINATION: destination },
  }));
}

/** As many processes of each as are wanted, the first under the name of its kind, and every edge on a port of its own. */
export function replicated(
  specs: readonly ProcessSpec[],
  countOf: (kind: string) => number,
  edgePorts: readonly number[],
): ProcessSpec[] {
  return specs.flatMap((spec) => {
    const count = countOf(kindOf(spec.name) ?? spec.name);
    return Array.from({ length: count }, (_, index) => {
      const name = index === 0 ? spec.name : `${spec.name}.${index + 1}`;
      const env = spec.name === 'edge' ? { ...spec.env, EDGE_PORT: String(edgePorts[index]) } : spec.env;
      return { ...spec, name, env };
    });
  });
}

/** Under which a process's port for metrics is kept, so that what reads them finds it after the next start too. */
export const metricsPortName = (process: string): string => `metrics.${process}`;

const NAMES = DESTINATIONS.map(({ name }) => name);

/** The kind of a process of `npm start` by its name, as `delivery.meta` or `dedup.2`; null for those that are no part of the service. */
function kindOf(name: string): ProcessKind | null {
  const [first] = name.split('.');
  return PROCESSES.find((kind) => kind === first) ?? null;
}

function namesRead(kind: ProcessKind, destination: string): Set<string> {
  return new Set(readBy(kind, NAMES, destination).map(({ facts }) => facts.variable));
}

/** Whether a process serves metrics: each of the service does, those beside it do not. */
export const isMeasured = (process: string): boolean => kindOf(process) !== null;

/** Every variable that some process reads. */
const READ: ReadonlySet<string> = new Set(
  PROCESSES.flatMap((kind) => (kind === 'delivery' ? NAMES : ['']).flatMap((name) => [...namesRead(kind, name)])),
);

/**
 * What a process gets of the environment that all have: of the service's variables those that it reads, so that no secret
 * goes where it is not used, and at the parts that run here the login of its own user.
 */
export function processEnvironment(name: string, env: Variables, logins: ProcessLogins): Record<string, string> {
  const kind = kindOf(name);
  const destination = name.split('.')[1] ?? '';
  const own = kind === null ? new Set<string>() : namesRead(kind, destination);
  const kept = Object.fromEntries(Object.entries(env).filter(([variable]) => own.has(variable) || !READ.has(variable)));
  return kind === null ? kept : { ...kept, ...loginOf(userOf(kind, destination), kept, logins) };
}

function loginOf(user: string, env: Variables, { kafka, redis, clickhouse }: ProcessLogins): Record<string, string> {
  const logins: Record<string, string> = {};
  if (kafka !== null) {
    logins['KAFKA_BROKERS'] = kafka.brokers;
    logins['KAFKA_SASL_MECHANISM'] = kafka.mechanism;
    logins['KAFKA_SASL_USERNAME'] = user;
    logins['KAFKA_SASL_PASSWORD'] = kafka.passwords[user] ?? '';
  }
  for (const [variable, passwords] of Object.entries({ REDIS_URL: redis, CLICKHOUSE_URL: clickhouse })) {
    const address = env[variable];
    if (passwords !== null && address !== undefined) logins[variable] = asUser(address, user, passwords[user] ?? '');
  }
  return logins;
}

/**
 * Starts the delivery of each destination that some site has by now and that does not run yet, whenever it is called: one
 * that no site has takes no memory on a small machine. One that was started runs on, as its retry topics may hold events.
 *
 * @param wanted Names of the destinations that may run.
 * @param always Those that run though no site may have them yet.
 */
export function createDeliveries(
  table: Pick<SettingsTable, 'destinations'>,
  wanted: readonly string[],
  always: readonly string[],
  start: (names: readonly string[]) => Promise<void>,
): () => Promise<void> {
  const started = new Set<string>();
  return async () => {
    const configured = new Set([...always, ...table.destinations().map(({ name }) => kindOfDestination(name))]);
    const names = wanted.filter((name) => configured.has(name) && !started.has(name));
    for (const name of names) started.add(name);
    if (names.length > 0) await start(names);
  };
}
