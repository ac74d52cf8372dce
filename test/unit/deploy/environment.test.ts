import { describe, expect, it, test } from 'vitest';
import { PROCESSES, settingGroups, settingWarnings } from '#infra/config/catalogue.ts';
import { controlConfig } from '#infra/config/control_config.ts';
import { edgeConfig } from '#infra/config/edge_config.ts';
import type { Environment } from '#infra/config/environment.ts';
import { provisionConfig, quotaConfig, replayConfig } from '#infra/config/service_config.ts';
import {
  alertsConfig,
  dedupConfig,
  deliveryConfig,
  erasureConfig,
  identityConfig,
  warehouseConfig,
} from '#infra/config/stage_config.ts';
import { composeEnvironment } from '#test/deploy/compose.ts';
import { ENVIRONMENT_FILES, settingsOf } from '#test/deploy/environment.ts';
import { BASE_SETTINGS } from '#test/deploy/kubernetes.ts';
import {
  DEPLOYED,
  type DeployedProcess,
  NAMES,
  NEVER_SET,
  PROVISION,
  SECRET_VARIABLES,
} from '#test/deploy/processes.ts';

/** How each kind of process reads its environment. */
const READERS: Record<DeployedProcess['kind'], (env: Environment) => unknown> = {
  edge: edgeConfig,
  control: (env) => controlConfig(env, NAMES),
  dedup: dedupConfig,
  identity: identityConfig,
  quota: quotaConfig,
  warehouse: warehouseConfig,
  delivery: (env) => deliveryConfig(env, NAMES),
  replay: replayConfig,
  alerts: alertsConfig,
  erasure: (env) => erasureConfig(env, NAMES),
  provision: provisionConfig,
};
const ALL = [...DEPLOYED, PROVISION];

/** What whoever deploys fills in. */
const FILLED: Record<string, string> = {
  KAFKA_SASL_PASSWORD: 'p',
  REDIS_URL: 'redis://svc:p@redis:6379',
  CLICKHOUSE_URL: 'http://svc:p@clickhouse:8123/svc',
  SECRETS_KEYS: `main:${Buffer.alloc(32).toString('base64')}`,
  IDENTITY_SECRET: Buffer.alloc(32).toString('base64'),
  CLICKHOUSE_PASSWORD: 'p',
};

function parsed(file: string): Record<string, string> {
  const lines = (ENVIRONMENT_FILES[file] ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

function filled(name: string): Record<string, string> {
  const own = Object.entries(parsed(`${name}.env`));
  return Object.fromEntries(own.map(([variable, value]) => [variable, value || (FILLED[variable] ?? '')]));
}

/** As run.sh sets it. */
const ofScript = ({ kind, name }: DeployedProcess): Record<string, string> =>
  kind === 'delivery' ? { DELIVERY_DESTINATION: name.slice('delivery-'.length) } : {};

/** As Compose replaces what it knows of `${NAME:?}` and `${NAME:-default}`. */
const interpolated = (text: string): string =>
  text.replace(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, sign: string, rest: string) =>
    sign === '?' ? (FILLED[name] ?? '') : rest,
  );

test('every kind of process is deployed', () => {
  expect([...new Set(DEPLOYED.map(({ kind }) => kind))].sort()).toEqual([...PROCESSES].sort());
  expect(DEPLOYED.filter(({ kind }) => kind === 'delivery')).toHaveLength(NAMES.length);
  for (const { name } of ALL) expect(name).toMatch(/^[a-z][a-z0-9-]{0,40}$/);
});

describe.for(ALL)('$name', (process) => {
  const read = READERS[process.kind];

  it('can read what the files of deploy/environment tell it', () => {
    const env = { ...parsed('settings.env'), ...filled(process.name), ...ofScript(process) };
    read(env);
    expect(settingWarnings(env)).toEqual([]);
  });

  it('can read what Kubernetes tells it', () => {
    const env = { ...settingsOf(BASE_SETTINGS), ...filled(process.name), ...ofScript(process) };
    read({ ...env, KAFKA_SASL_MECHANISM: 'scram-sha-512' });
    expect(settingWarnings(env)).toEqual([]);
  });

  it('can read what Compose tells it', () => {
    const told = Object.entries(composeEnvironment(process)).map(([name, value]) => [name, interpolated(value)]);
    const env = { ...(Object.fromEntries(told) as Record<string, string>), ...ofScript(process) };
    read(env);
    expect(settingWarnings(env)).toEqual([]);
  });

  it('is told no secret that it does not read', () => {
    const own = new Set(process.own.map(({ facts }) => facts.variable));
    const told = [...Object.keys(composeEnvironment(process)), ...Object.keys(parsed(`${process.name}.env`))];
    expect(told.filter((name) => SECRET_VARIABLES.has(name) && !own.has(name))).toEqual([]);
  });
});

const VARIABLES = Object.values(settingGroups(NAMES)).flatMap((group) => group.map(({ facts }) => facts.variable));

test('what is secret and what is never set are variables that there are', () => {
  expect([...SECRET_VARIABLES, ...NEVER_SET].filter((name) => !VARIABLES.includes(name))).toEqual([]);
});

/** Public addresses, and what only the command line and the tests read. */
const NOT_SECRET =
  /^(?:CONTROL_(?:PUBLIC|EDGE)_URL|ALERTS_DASHBOARD_URL|SCHEMA_REGISTRY_URL|EDGE_LOADER_\w+|DELIVERY_.+|(?:SVC|AWS)_\w+|\w+_LABEL|RATE_LIMIT_\w+|CONTROL_HOSTS)$/;

test('whatever is named as a secret counts as one', () => {
  const named = VARIABLES.filter(
    (name) => /SECRET|PASSWORD|TOKEN|KEYS|PROVIDERS|URL/.test(name) && !NOT_SECRET.test(name),
  );
  expect(named.filter((name) => !SECRET_VARIABLES.has(name))).toEqual([]);
});

test('settings hold no secret, and nothing of tests', () => {
  const settings = [...Object.keys(settingsOf(BASE_SETTINGS)), ...Object.keys(parsed('settings.env'))];
  expect(settings.filter((name) => SECRET_VARIABLES.has(name) || NEVER_SET.has(name))).toEqual([]);
});

test('no file of the repository has a value for a secret', () => {
  const values = ALL.flatMap(({ name }) => Object.entries(parsed(`${name}.env`)));
  expect(values.filter(([name, value]) => SECRET_VARIABLES.has(name) && value !== '')).toEqual([]);
});

test('each process has a port for its metrics of its own on one host', () => {
  const ports = DEPLOYED.map(({ name }) => parsed(`${name}.env`)['METRICS_PORT']);
  expect(new Set(ports).size).toBe(DEPLOYED.length);
});
