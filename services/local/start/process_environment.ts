import { PROCESSES, type ProcessKind, readBy } from '#infra/config/catalogue.ts';
import type { ProcessLogins } from '#infra/local/credentials.ts';
import { userOf } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

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
