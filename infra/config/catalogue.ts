import { type TProperties, Type } from 'typebox';
import { FAILPOINT } from '#infra/failpoint/failpoint_config.ts';
import type { Environment } from './config.ts';
import { CONTROL, controlProcess } from './control_config.ts';
import { EDGE, EDGE_PROCESS, HTTP } from './edge_config.ts';
import { COMMAND_LINE, deliveriesSettings, LOCAL } from './local_config.ts';
import { readSettings } from './read_settings.ts';
import { CLICKHOUSE_PROCESS, PARTS, PROCESS, REDIS_PROCESS, SECRETS } from './service_config.ts';
import {
  DEDUP,
  DEDUP_PROCESS,
  deliveryProcess,
  deliverySettings,
  EGRESS,
  IDENTITY_PROCESS,
  WAREHOUSE,
  WAREHOUSE_PROCESS,
} from './stage_config.ts';
import { TOOLS } from './tools_config.ts';
import { orNull, type Variable, variablesOf } from './variable.ts';

/** Stands for the name of any destination in the name of a variable. */
export const ANY_NAME = '<NAME>';

/**
 * Every variable, in the groups of docs/configuration.md. `destinations` are all destinations' names, which are the values
 * that some variables allow.
 */
export function settingGroups(destinations: readonly string[]): Record<string, Variable[]> {
  const groups: Record<string, TProperties> = {
    parts: PARTS.properties,
    secrets: SECRETS,
    process: PROCESS.properties,
    edge: EDGE.properties,
    http: HTTP.properties,
    control: CONTROL.properties,
    'command-line': COMMAND_LINE.properties,
    dedup: DEDUP.properties,
    warehouse: WAREHOUSE.properties,
    delivery: { ...deliverySettings(ANY_NAME, destinations).properties, ...EGRESS.properties },
    start: { ...LOCAL.properties, ...deliveriesSettings(destinations).properties, ...TOOLS.properties },
    failpoints: FAILPOINT.properties,
  };
  return Object.fromEntries(Object.entries(groups).map(([name, properties]) => [name, variablesOf(properties)]));
}

/** The kinds of processes that the service is made of; each delivery is one of its own. */
export const PROCESSES = ['edge', 'control', 'dedup', 'identity', 'quota', 'warehouse', 'delivery', 'replay'] as const;
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
    replay: () => CLICKHOUSE_PROCESS.properties,
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
