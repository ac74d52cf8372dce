// Everything on one machine with Docker: the parts of infra/compose.yaml, and all processes.
import { DEPLOYED, type DeployedProcess, httpPortOf, isRequired, PROVISION } from './processes.ts';
import { Alias, Anchor, type Yaml, yamlFile } from './yaml.ts';

/** A variable of deploy/.env that Compose puts in; without it nothing starts. */
const required = (name: string): string => `\${${name}:?}`;
const given = (name: string, otherwise = ''): string => `\${${name}:-${otherwise}}`;

type Service = { readonly [key: string]: Yaml };

/** The parts inside of Compose's network: of Kafka the listener that it has for other containers. */
const SETTINGS = {
  KAFKA_BROKERS: 'kafka:19092',
  SCHEMA_REGISTRY_URL: 'http://registry:8080/apis/ccompat/v7',
  EVENT_PARTITIONS: given('EVENT_PARTITIONS', '4'),
  LOG_LEVEL: given('LOG_LEVEL', 'info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: given('OTEL_EXPORTER_OTLP_ENDPOINT'),
};

/** What a process has beside that, of the variables that it reads. */
const OWN: Readonly<Record<string, string>> = {
  REDIS_URL: 'redis://redis:6379',
  CLICKHOUSE_URL: `http://svc:${required('CLICKHOUSE_PASSWORD')}@clickhouse:8123/svc`,
  SECRETS_KEYS: required('SECRETS_KEYS'),
  IDENTITY_SECRET: required('IDENTITY_SECRET'),
};

const DASHBOARD = given('CONTROL_PUBLIC_URL', 'http://127.0.0.1:8090');

const OF_KIND: Readonly<Partial<Record<DeployedProcess['kind'], Record<string, string>>>> = {
  edge: { CONTROL_PUBLIC_URL: DASHBOARD, TRUSTED_PROXIES: given('TRUSTED_PROXIES') },
  control: {
    CONTROL_PUBLIC_URL: DASHBOARD,
    CONTROL_EDGE_URL: given('CONTROL_EDGE_URL', 'http://127.0.0.1:8080'),
    CONTROL_FIRST_TOKEN_SHA256: given('CONTROL_FIRST_TOKEN_SHA256'),
    CONTROL_FIRST_USER: given('CONTROL_FIRST_USER'),
    CONTROL_FIRST_PASSWORD_HASH: given('CONTROL_FIRST_PASSWORD_HASH'),
    TRUSTED_PROXIES: given('TRUSTED_PROXIES'),
  },
};

/** What a process is told, as its container has it. */
export function composeEnvironment(process: DeployedProcess): Record<string, string> {
  const own = process.own.filter(isRequired).map(({ facts }) => facts.variable);
  return {
    ...SETTINGS,
    ...Object.fromEntries(own.map((name) => [name, OWN[name] ?? ''])),
    ...(own.includes('IDENTITY_SECRET') ? { IDENTITY_KEY: given('IDENTITY_KEY') } : {}),
    ...OF_KIND[process.kind],
  };
}

const IMAGE = given('SVC_IMAGE', 'event-ingest:0.2.0');

const UP = { condition: 'service_healthy' };

/** Seconds; a process ends within 20. */
const STOP_S = 25;

const COMMON = {
  image: IMAGE,
  read_only: true,
  cap_drop: ['ALL'],
  security_opt: ['no-new-privileges:true'],
  stop_grace_period: `${STOP_S}s`,
  restart: 'unless-stopped',
  depends_on: { redis: UP, provision: { condition: 'service_completed_successfully' } },
  // Here ready, so that `up --wait` waits for it; nothing is restarted for it.
  healthcheck: {
    test: ['CMD', 'sh', '/app/deploy/run.sh', 'ready'],
    interval: '10s',
    timeout: '10s',
    start_period: '60s',
  },
  logging: { driver: 'json-file', options: { 'max-size': '50m', 'max-file': '5' } },
} as const;

/** The variables of a process beside those that all have. */
const rest = (process: DeployedProcess): Record<string, string> =>
  Object.fromEntries(Object.entries(composeEnvironment(process)).filter(([name]) => !(name in SETTINGS)));

function serviceOf(process: DeployedProcess): Service {
  const port = httpPortOf(process);
  return {
    '<<': new Alias('process'),
    command: [process.name],
    mem_limit: `${process.memoryMiB.limit}m`,
    ...(port === null ? {} : { ports: [`127.0.0.1:${port}:${port}`] }),
    environment: { '<<': new Alias('settings'), ...rest(process) },
  };
}

const PROVISION_SERVICE: Service = {
  '<<': new Alias('process'),
  // What differs from what is declared is told by status 3, and stops no process.
  entrypoint: ['sh', '-c', `sh /app/deploy/run.sh ${PROVISION.name} || test $$? -eq 3`],
  environment: { '<<': new Alias('settings'), ...rest(PROVISION) },
  restart: 'no',
  depends_on: { kafka: UP, registry: UP, clickhouse: UP },
  healthcheck: { disable: true },
};

const SERVICES: Readonly<Record<string, Service>> = {
  provision: PROVISION_SERVICE,
  ...Object.fromEntries(DEPLOYED.map((process) => [process.name, serviceOf(process)])),
};

const ABOUT = `Kafka, registry, Redis, ClickHouse and every process on one machine, with Docker Compose 2.20 or newer:

  docker build -f deploy/Dockerfile -t event-ingest:0.2.0 .
  cd deploy
  (umask 077; sh compose_secrets.sh > .env)    # once, and keep it: what it sealed is lost without it
  docker compose up --wait

Leave out the deliveries that no site has. Ports are published on loopback: put a proxy with TLS before edge and control, and its
address into TRUSTED_PROXIES. After a change of the version, run \`up\` again: provisioning runs first,
and processes start behind it also where it reports a MISMATCH.
Made by \`npm run docs:configuration\`; what is yours, other variables too, belongs into compose.override.yaml beside it, which Compose
reads here (with -f it would not).`;

export const COMPOSE_FILE = yamlFile(ABOUT, {
  name: 'event-ingest',
  include: [{ path: '../infra/compose.yaml' }],
  'x-settings': new Anchor('settings', SETTINGS),
  'x-process': new Anchor('process', COMMON),
  services: SERVICES,
});
