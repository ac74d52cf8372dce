// As whom processes sign in, by the files that they have their variables of, and these files with other passwords.

import { readClickhouseAddress, readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import { isScram, type ScramMechanism } from '#infra/kafka/scram.ts';
import { leadsToSame, readRedisAddress } from '#infra/redis/address.ts';
import { asLogin, type LoginPart } from '#infra/rights/logins.ts';
import { UsageError } from '../command.ts';
import { type EnvFile, valueIn, withValue, withValueBelow } from './environment_text.ts';

/** Where passwords stand: of Kafka beside the user, of the others in addresses. */
export const VARIABLES: Record<LoginPart, readonly [string, ...string[]]> = {
  kafka: ['KAFKA_SASL_PASSWORD'],
  redis: ['REDIS_URL', 'REDIS_SECONDARY_URL'],
  clickhouse: ['CLICKHOUSE_URL', 'CONTROL_SQL_URL', 'CONTROL_ANALYSTS_URL'],
};
const MECHANISM = 'KAFKA_SASL_MECHANISM';
const LOGIN = ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;

/** The new passwords of users, by name; of Kafka with the mechanism that has them. */
export interface NewLogins {
  passwords: Readonly<Record<string, string>>;
  mechanism: ScramMechanism | null;
}

interface FileLogin {
  file: EnvFile;
  variable: string;
  user: string;
  password: string;
}

/** Every login of the part, in the order of the files. @throws UsageError `variable_unreadable` */
export function allLogins(part: LoginPart, files: readonly EnvFile[]): FileLogin[] {
  return files.flatMap((file) =>
    VARIABLES[part].flatMap((variable) => {
      const login = loginOf(part, file, variable);
      return login === null ? [] : [{ file, variable, ...login }];
    }),
  );
}

/** Passwords by user. @throws UsageError where two files have two of one user */
export function passwordsByUser(logins: readonly FileLogin[]): Map<string, string> {
  const passwords = new Map<string, string>();
  for (const { file, variable, user, password } of logins) {
    if ((passwords.get(user) ?? password) !== password)
      throw new UsageError(
        'passwords_differ',
        `${file.path}: ${variable} has another password of ${user} than a file before`,
      );
    passwords.set(user, password);
  }
  return passwords;
}

/**
 * The text of a file with new logins; that of one which has them stays as it is. The mechanism of a password stands beside it: other
 * files than those of the folder may tell processes the former one.
 */
export function withLogins(part: LoginPart, file: EnvFile, { passwords, mechanism }: NewLogins): string {
  const changed = { ...file };
  for (const { variable, user } of allLogins(part, [file])) {
    const password = passwords[user];
    if (password === undefined) continue;
    const value = part === 'kafka' ? password : asLogin(valueIn(file, variable), user, password);
    changed.text = withValue(changed, variable, value);
    if (mechanism !== null) changed.text = withValueBelow(changed, variable, MECHANISM, mechanism);
  }
  return changed.text;
}

/**
 * The one mechanism by which users of files sign in: that beside the password, or else that of files without one.
 *
 * @throws UsageError where there are none or several, or Kafka keeps its passwords elsewhere
 */
export function mechanismIn(files: readonly EnvFile[]): ScramMechanism {
  const owners = new Set(allLogins('kafka', files).map(({ file }) => file));
  const told = (file: EnvFile): string => valueIn(file, MECHANISM).toLowerCase();
  const shared = files.filter((file) => !owners.has(file)).flatMap((file) => told(file) || []);
  const all = new Set([...owners].flatMap((file) => told(file) || shared));
  const [mechanism = 'none'] = all;
  if (all.size === 1 && isScram(mechanism)) return mechanism;
  const why = 'PLAIN keeps passwords in the settings of the brokers';
  throw new UsageError('mechanism_unknown', `the files need one ${MECHANISM}, which is scram-sha-256 or -512: ${why}`);
}

/** A password and its user stand in one file: what one of them is without the other, no file tells. @throws UsageError */
export function refuseHalfLogins(files: readonly EnvFile[]): void {
  for (const file of files) {
    const missing = LOGIN.filter((variable) => valueIn(file, variable) === '');
    if (missing.length === 1)
      throw new UsageError(
        'password_elsewhere',
        `${file.path} has no ${missing[0]}: give it there, or take the file away where no process has it`,
      );
  }
}

/**
 * The servers are told by one address: where a file leads elsewhere, its user would keep the old password there.
 *
 * @throws UsageError `servers_differ`
 */
export function refuseDifferentServers(part: LoginPart, files: readonly EnvFile[]): void {
  const named =
    part === 'kafka'
      ? files.map((file) => ({ file, variable: 'KAFKA_BROKERS' }))
      : allLogins(part, files).map(({ file, variable }) => ({ file, variable }));
  let first: string | null = null;
  for (const { file, variable } of named) {
    const servers = serversIn(part, valueIn(file, variable)).toSorted().join(' ');
    if (servers === '') continue;
    first ??= servers;
    if (servers !== first)
      throw new UsageError(
        'servers_differ',
        `${file.path}: ${variable} leads to other servers than that of a file before: give both the same, or change passwords of one folder for each`,
      );
  }
}

function serversIn(part: LoginPart, value: string): string[] {
  if (value === '') return [];
  if (part === 'kafka') return value.split(',').map((broker) => broker.trim());
  if (part === 'redis') return readRedisAddress(value).nodes.map(({ host, port }) => `${host}:${port}`);
  return readClickhouseAddress(value).map((url) => new URL(url).host);
}

/** As whom a variable of a file signs in at the servers of its part; null where it does not. */
function loginOf(part: LoginPart, file: EnvFile, variable: string): { user: string; password: string } | null {
  const value = valueIn(file, variable);
  if (value === '') return null;
  if (variable === 'REDIS_SECONDARY_URL' && !leadsToSame(valueIn(file, 'REDIS_URL'), value)) return null;
  const { username = '', password = '' } =
    part === 'kafka'
      ? { username: valueIn(file, 'KAFKA_SASL_USERNAME'), password: value }
      : part === 'redis'
        ? readRedisAddress(value)
        : readClickhouseLogin(value);
  return username === '' || password === '' ? null : { user: username, password };
}
