// All settings, by process, for documentation and for warnings of names that nothing reads.

import { type TProperties, Type } from 'typebox';
import { CONTROL, controlProcess } from './control_config.ts';
import { EDGE, EDGE_PROCESS, HTTP } from './edge_config.ts';
import {
  ConfigError,
  type Environment,
  environment,
  orNull,
  readSettings,
  type Variable,
  variablesOf,
} from './environment.ts';
import { COMMAND_LINE, deliveriesSettings, LOCAL, TOOLS } from './local_config.ts';
import { FAILPOINT, PARTS, PROCESS, REDIS_PROCESS, REPLAY_PROCESS, SECRETS, SYSTEMD } from './service_config.ts';
import {
  ALERTS,
  ALERTS_PROCESS,
  DEDUP,
  DEDUP_PROCESS,
  deliveryProcess,
  deliverySettings,
  EGRESS,
  erasureProcess,
  IDENTITY_PROCESS,
  WAREHOUSE,
  WAREHOUSE_PROCESS,
} from './stage_config.ts';

/** Stands for the name of any destination in the name of a variable. */
const ANY_NAME = '<NAME>';

/**
 * Every variable, in the groups of docs/configuration.md. `destinations` are all destinations' names, which are the values
 * that some variables allow.
 */
export function settingGroups(destinations: readonly string[]): Record<string, Variable[]> {
  const groups: Record<string, TProperties> = {
    parts: PARTS.properties,
    secrets: SECRETS,
    process: { ...PROCESS.properties, ...SYSTEMD.properties },
    edge: EDGE.properties,
    http: HTTP.properties,
    control: CONTROL.properties,
    'command-line': COMMAND_LINE.properties,
    dedup: DEDUP.properties,
    warehouse: WAREHOUSE.properties,
    delivery: { ...deliverySettings(ANY_NAME, destinations).properties, ...EGRESS.properties },
    alerts: ALERTS.properties,
    start: { ...LOCAL.properties, ...deliveriesSettings(destinations).properties, ...TOOLS.properties },
    failpoints: FAILPOINT.properties,
  };
  return Object.fromEntries(Object.entries(groups).map(([name, properties]) => [name, variablesOf(properties)]));
}

/** The kinds of processes that the service is made of; each delivery is one of its own. */
export const PROCESSES = [
  'edge',
  'control',
  'dedup',
  'identity',
  'quota',
  'warehouse',
  'delivery',
  'replay',
  'erasure',
  'alerts',
] as const;
export type ProcessKind = (typeof PROCESSES)[number];

/** The variables that a process reads; `destination` is that of a delivery. */
export function readBy(kind: ProcessKind, destinations: readonly string[], destination = ''): Variable[] {
  const schemas: Record<ProcessKind, () => TProperties> = {
    edge: () => EDGE_PROCESS.properties,
    control: () => controlProcess(destinations).properties,
    dedup: () => DEDUP_PROCESS.properties,
    identity: () => IDENTITY_PROCESS.properties,
    quota: () => REDIS_PROCESS.properties,
    warehouse: () => WAREHOUSE_PROCESS.properties,
    delivery: () => deliveryProcess(destination, destinations).properties,
    replay: () => REPLAY_PROCESS.properties,
    erasure: () => erasureProcess(destinations).properties,
    alerts: () => ALERTS_PROCESS.properties,
  };
  return variablesOf(schemas[kind]());
}

/**
 * Checks every variable that is set, whichever process reads it, before any process is started.
 *
 * @throws ConfigError with every fault there is.
 */
export function checkGiven(env: Environment, destinations: readonly string[]): void {
  const known = Object.values(settingGroups(destinations)).flat();
  const named = destinations.flatMap((name) => variablesOf(deliverySettings(name, destinations).properties));
  const fields = [...known, ...named].map(({ facts, schema }) => [facts.variable, orNull(schema)]);
  readSettings(Type.Object(Object.fromEntries(fields)), env);
}

/**
 * Prefixes of our variables' names. Common prefixes, such as LOG_ or LOCAL_, are left out, because a variable of another
 * program is not a mistake.
 */
const PREFIXES = (
  'ALERTS_ AUDIT_DAY CLICKHOUSE_ CONTROL_ DEDUP_ DELIVERY_ EDGE_ EGRESS_ EVENT_PARTITION FAILPOINT IDENTITY_ KAFKA_ ' +
  'METRICS_ PERSON_MERGE_ RATE_LIMIT_ REDIS_ REQUEST_ERRORS_ SCHEMA_REGISTRY_ SECRETS_ SVC_ADMIN_ SVC_CLICKHOUSE_ SVC_CONTROL_ SVC_EDGE_ SVC_SERVER_ TRANSACTION_PARTITION TRUSTED_ WAREHOUSE_'
).split(' ');

/** Variables that Kubernetes sets for a service that is named like one of our prefixes. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)|_PORT_\d+_/;

/** Variables that are set without effect: names that nothing reads. */
export function settingWarnings(env: Environment): string[] {
  const names = Object.values(settingGroups([])).flatMap((group) => group.map(({ facts }) => facts.variable));
  const unknown = Object.keys(env).filter(
    (name) => env[name] && looksLikeOurs(name) && !names.some((form) => form === name || isForm(form, name)),
  );
  return unknown.map((name) => `nothing reads ${name}: did you mean ${nearest(name, names)}?`);
}

function looksLikeOurs(name: string): boolean {
  return PREFIXES.some((prefix) => name.startsWith(prefix)) && !OF_KUBERNETES.test(name);
}

/** Whether a name is that of a variable with a destination's name in it. */
function isForm(form: string, name: string): boolean {
  const [before = '', after] = form.split(ANY_NAME);
  return (
    after !== undefined && name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length
  );
}

function nearest(name: string, names: readonly string[]): string {
  const distances = names.map((other) => distance(name, other));
  return names[distances.indexOf(Math.min(...distances))] ?? '';
}

/** How many letters to add, remove or change to turn one text into the other (Levenshtein distance). */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, deadLetter] of from.split('').entries()) {
    const current = [row + 1];
    for (const [column, other] of to.split('').entries()) {
      const changed = (above[column] ?? 0) + (deadLetter === other ? 0 : 1);
      current.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}

/** Reads this process's environment. Where it cannot be used, says every fault on standard error and ends the process. */
export function readConfig<C>(read: (env: Environment) => C): C {
  try {
    return read(environment());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    // A name that is wrong is often why another one is not set.
    warnOfSettings((text) => process.stderr.write(`warning: ${text}\n`));
    process.exit(1);
  }
}

export function warnOfSettings(warn: (text: string) => void): void {
  settingWarnings(environment()).forEach(warn);
}
