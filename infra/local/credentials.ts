import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

/** The user who may do everything at a part: its address has the password. */
export const SERVICE_USER = 'svc';

/** The processes as users of the local parts. */
export const LOCAL_PROCESS_USERS = processUsers(DESTINATIONS.map(({ name }) => name));

/** Where the passwords of a part's users are. */
export const credentialsPath = (dataDir: string, part: 'kafka' | 'redis' | 'clickhouse'): string =>
  join(dataDir, part, 'credentials.json');

/** Passwords by user. They are made at the first start, in a file that only its owner may read. */
export function credentialsOf(path: string, users: readonly string[]): Record<string, string> {
  const known = readPasswords(path);
  const missing = users.filter((user) => known[user] === undefined);
  for (const user of missing) known[user] = randomBytes(18).toString('base64url');
  if (missing.length > 0) writeFileSync(path, `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 });
  return known;
}

function readPasswords(path: string): Record<string, string> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

type Passwords = Readonly<Record<string, string>>;

/** How processes reach the local parts each as its own user; null for a part that is another than the data folder's. */
export interface ProcessLogins {
  /** The brokers' listener for users with passwords. */
  kafka: { brokers: string; passwords: Passwords } | null;
  redis: Passwords | null;
  clickhouse: Passwords | null;
}

/** The broker's two addresses, as they were at its last start. */
export interface KafkaListeners {
  /** For whoever administrates it; without a password, as tests and the registry are. */
  brokers: string;
  /** For the processes. */
  saslBrokers: string;
}

export const listenersPath = (dataDir: string): string => join(dataDir, 'kafka', 'listeners.json');

/** Addresses of parts, which may run elsewhere. */
interface Addresses {
  kafkaBrokers: string;
  redisUrl: string;
  clickhouseUrl: string;
}

/** An address has the password of the data folder's part only where it is that part's. */
export function loginsOf(dataDir: string, addresses: Addresses): ProcessLogins {
  const ofUrl = (part: 'redis' | 'clickhouse', url: string): Passwords | null => {
    const passwords = readPasswords(credentialsPath(dataDir, part));
    const { password } = new URL(url);
    return password !== '' && password === passwords[SERVICE_USER] ? passwords : null;
  };
  const path = listenersPath(dataDir);
  const listeners: KafkaListeners | null = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
  return {
    kafka:
      listeners === null || listeners.brokers !== addresses.kafkaBrokers
        ? null
        : { brokers: listeners.saslBrokers, passwords: readPasswords(credentialsPath(dataDir, 'kafka')) },
    redis: ofUrl('redis', addresses.redisUrl),
    clickhouse: ofUrl('clickhouse', addresses.clickhouseUrl),
  };
}
