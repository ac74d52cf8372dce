import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ANALYST_SETTINGS,
  ANALYST_SITE,
  analystGrants,
  analystName,
  readerGrants,
  readerName,
  readerRows,
  SQL_API_USER,
  SQL_READER,
  SQL_SETTINGS,
  SQL_SITE_ROWS,
  SQL_VIEWS,
  sqlGrants,
} from '#infra/clickhouse/analysts/analyst_rights.ts';
import { readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import type { ScramMechanism } from '#infra/kafka/scram.ts';
import { readRedisAddress } from '#infra/redis/address.ts';
import { clickhouseUsers, processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { LocalAddresses } from '../parts.ts';

/** The database of the service; every user's default. */
export const DATABASE = 'svc';

/** A user of the local ClickHouse. There are no others, because this server cannot CREATE USER. */
export interface UserPlan {
  name: string;
  /** Privileges, as `SELECT ON svc.*`. Undefined: everything but managing access. */
  grants?: string[];
  /** Settings of the user's profile, such as `{ readonly: 1 }`. */
  settings?: Record<string, string | number>;
  /** Its default database, if that is not the service's. */
  database?: string;
  /** Condition on the rows the user sees, by table. Undefined: all rows. */
  rows?: Record<string, string>;
  /** True: nobody logs in as this user; views of others read with its rights. */
  isReader?: boolean;
}

/** An address from which no connection can come. */
const NOWHERE = '0.0.0.0';

/** The user who may do everything at a part: its address has the password. */
export const SERVICE_USER = 'svc';

/** The processes as users of the local parts. */
export const LOCAL_PROCESS_USERS = processUsers(DESTINATIONS.map(({ name }) => name));

/** Add a user here; its password is made at the next start (credentialsOf). */
export const LOCAL_USERS: UserPlan[] = [
  { name: SERVICE_USER },
  ...clickhouseUsers(LOCAL_PROCESS_USERS, DATABASE),
  {
    name: analystName(ANALYST_SITE),
    database: analystName(ANALYST_SITE),
    grants: analystGrants(ANALYST_SITE),
    settings: ANALYST_SETTINGS,
  },
  {
    name: readerName(ANALYST_SITE),
    isReader: true,
    grants: readerGrants(DATABASE),
    rows: readerRows(ANALYST_SITE),
  },
  { name: SQL_API_USER, database: SQL_VIEWS, grants: sqlGrants(), settings: SQL_SETTINGS },
  { name: SQL_READER, isReader: true, grants: readerGrants(DATABASE), rows: SQL_SITE_ROWS },
];

/**
 * users.xml. `default` runs the server's own start-up queries, for which it must have no password on loopback. It may only
 * create the database, without which no other user could log in, and open and close listeners.
 *
 * @param beside Passwords that let users in as well.
 */
export function renderUsers(users: UserPlan[], passwords: Passwords, beside: Passwords = {}): string {
  return `<clickhouse>
<profiles><default/>${users.map(renderProfile).join('')}</profiles>
<quotas><default/></quotas>
<users>
${renderUser({ name: 'default', grants: ['SYSTEM LISTEN ON *.*', `CREATE DATABASE ON ${DATABASE}.*`] }, '<password/>')}
${users.map((user) => renderUser({ database: DATABASE, ...user }, methodsOf(user.name, [passwords, beside]))).join('\n')}
</users>
</clickhouse>
`;
}

function renderProfile(user: UserPlan): string {
  const settings = Object.entries(user.settings ?? {}).map(([name, value]) => `<${name}>${value}</${name}>`);
  return `<${user.name}>${settings.join('')}</${user.name}>`;
}

function renderUser({ name, grants, database, rows = {}, isReader }: UserPlan, password: string): string {
  const queries = grants?.map((grant) => `<query>GRANT ${grant}</query>`).join('');
  return (
    `<${name}>${password}<networks><ip>${isReader === true ? NOWHERE : '127.0.0.1'}</ip></networks>` +
    `<profile>${name}</profile><quota>default</quota>` +
    `${database === undefined ? '' : `<default_database>${database}</default_database>`}` +
    `${renderRows(rows)}${queries === undefined ? '' : `<grants>${queries}</grants>`}</${name}>`
  );
}

function renderRows(rows: Record<string, string>): string {
  const tables = Object.entries(rows).map(([table, condition]) => `<${table}><filter>${condition}</filter></${table}>`);
  return tables.length === 0 ? '' : `<databases><${DATABASE}>${tables.join('')}</${DATABASE}></databases>`;
}

function methodsOf(user: string, passwords: readonly Passwords[]): string {
  const [only = '', ...others] = passwords.flatMap((each) => {
    const password = each[user];
    if (password === undefined) return [];
    return `<password_sha256_hex>${createHash('sha256').update(password).digest('hex')}</password_sha256_hex>`;
  });
  if (only === '') throw new Error('a ClickHouse user has no password');
  if (others.length === 0) return only;
  return `<auth_methods>${[only, ...others].map((method, at) => `<m${at}>${method}</m${at}>`).join('')}</auth_methods>`;
}

export const credentialsPath = (dataDir: string, part: 'kafka' | 'redis' | 'clickhouse'): string =>
  join(dataDir, part, 'credentials.json');

/** Passwords by user. They are made at the first start, in a file that only its owner may read. */
export function credentialsOf(path: string, users: readonly string[]): Record<string, string> {
  const known = readPasswords(path);
  const missing = users.filter((user) => known[user] === undefined);
  for (const user of missing) known[user] = randomBytes(18).toString('base64url');
  if (missing.length > 0) writeSecret(path, known);
  return known;
}

/** Writes a file for its owner alone, whole or not at all. */
export function writeSecret(path: string, value: object): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function readPasswords(path: string): Record<string, string> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

export function asUser(address: string, user: string, password: string): string {
  const url = new URL(address);
  url.username = user;
  url.password = password;
  return url.href;
}

export type Passwords = Readonly<Record<string, string>>;

/** How processes reach the local parts each as its own user; null for a part that is another than the data folder's. */
export interface ProcessLogins {
  /** The brokers' listener for users with passwords. */
  kafka: { brokers: string; mechanism: ScramMechanism; passwords: Passwords } | null;
  redis: Passwords | null;
  clickhouse: Passwords | null;
}

/** The broker's two addresses, as they were at its last start. */
export interface KafkaListeners {
  /** For whoever administrates it; without a password, as tests and the registry are. */
  brokers: string;
  /** For the processes. */
  saslBrokers: string;
  /** What holds their passwords. */
  mechanism: ScramMechanism;
}

/** Of brokers whose users have had one password each only. */
export const SCRAM_FIRST: ScramMechanism = 'scram-sha-512';

export const listenersPath = (dataDir: string): string => join(dataDir, 'kafka', 'listeners.json');

export function readListeners(dataDir: string): KafkaListeners | null {
  const path = listenersPath(dataDir);
  return existsSync(path) ? { mechanism: SCRAM_FIRST, ...JSON.parse(readFileSync(path, 'utf8')) } : null;
}

export const writeListeners = (dataDir: string, listeners: KafkaListeners): void =>
  writeSecret(listenersPath(dataDir), listeners);

/** An address has the password of the data folder's part only where it is that part's. */
export function loginsOf(dataDir: string, addresses: Omit<LocalAddresses, 'registryUrl'>): ProcessLogins {
  const of = (part: 'redis' | 'clickhouse', password = ''): Passwords | null => {
    const passwords = readPasswords(credentialsPath(dataDir, part));
    return password !== '' && password === passwords[SERVICE_USER] ? passwords : null;
  };
  const listeners = readListeners(dataDir);
  const isOwn = listeners !== null && listeners.brokers === addresses.kafkaBrokers;
  return {
    kafka: isOwn
      ? {
          brokers: listeners.saslBrokers,
          mechanism: listeners.mechanism,
          passwords: readPasswords(credentialsPath(dataDir, 'kafka')),
        }
      : null,
    redis: of('redis', readRedisAddress(addresses.redisUrl).password),
    clickhouse: of('clickhouse', readClickhouseLogin(addresses.clickhouseUrl).password),
  };
}
