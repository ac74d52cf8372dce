// As whom processes sign in, by the files that they have their variables of, and these files with other passwords.

import { basename } from 'node:path';
import { readClickhouseLogin } from '#infra/clickhouse/address.ts';
import { isScram, type ScramMechanism } from '#infra/kafka/scram.ts';
import { leadsToSame, readRedisAddress } from '#infra/redis/address.ts';
import { asLogin, type LoginPart } from '#infra/rights/logins.ts';
import { processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { UsageError } from '../command.ts';
import { type EnvFile, valueIn, withValue } from './environment_text.ts';

/** Where passwords stand: of Kafka beside the user, of the others in addresses. */
export const VARIABLES: Record<LoginPart, readonly [string, ...string[]]> = {
  kafka: ['KAFKA_SASL_PASSWORD'],
  redis: ['REDIS_URL', 'REDIS_SECONDARY_URL'],
  clickhouse: ['CLICKHOUSE_URL', 'CONTROL_SQL_URL', 'CONTROL_ANALYSTS_URL'],
};
const MECHANISM = 'KAFKA_SASL_MECHANISM';

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

/** The text of a file with new logins; that of one which has them stays as it is. */
export function withLogins(part: LoginPart, file: EnvFile, { passwords, mechanism }: NewLogins): string {
  const changed = { ...file };
  for (const { variable, user } of allLogins(part, [file])) {
    const password = passwords[user];
    if (password === undefined) continue;
    const value = part === 'kafka' ? password : asLogin(valueIn(file, variable), user, password);
    changed.text = withValue(changed, variable, value);
  }
  return mechanism === null ? changed.text : withValue(changed, MECHANISM, mechanism);
}

/** The one mechanism of the files. @throws UsageError where they have none or several, or Kafka keeps its passwords elsewhere */
export function mechanismIn(files: readonly EnvFile[]): ScramMechanism {
  const all = new Set(files.map((file) => valueIn(file, MECHANISM).toLowerCase()));
  all.delete('');
  const [mechanism = 'none'] = all;
  if (all.size === 1 && isScram(mechanism)) return mechanism;
  const why = 'PLAIN keeps passwords in the settings of the brokers';
  throw new UsageError('mechanism_unknown', `the files need one ${MECHANISM}, which is scram-sha-256 or -512: ${why}`);
}

/** Files of processes by name, as deploy/environment has them: `svc_delivery_meta` has delivery-meta.env. */
const PROCESS_FILES: ReadonlySet<string> = new Set(
  processUsers(DESTINATIONS.map(({ name }) => name)).map(
    ({ user }) => `${user.replace(/^svc_/, '').replaceAll('_', '-')}.env`,
  ),
);

/**
 * A new password is of another mechanism, which a file may give to processes whose password is in no file: they would sign in by
 * the old one, which is not of that mechanism. @throws UsageError `password_elsewhere`
 */
export function refuseElsewhere(files: readonly EnvFile[]): void {
  const all = files.map((file) => ({
    path: file.path,
    isProcess: PROCESS_FILES.has(basename(file.path)),
    user: valueIn(file, 'KAFKA_SASL_USERNAME'),
    password: valueIn(file, 'KAFKA_SASL_PASSWORD'),
    mechanism: valueIn(file, MECHANISM),
  }));
  const shared = all.filter((one) => !one.isProcess);
  const isTold = shared.some((one) => one.mechanism !== '') && shared.every((one) => one.user === '');
  const elsewhere = all.find(
    ({ isProcess, user, password, mechanism }) =>
      (user === '') !== (password === '') || (isProcess && user === '' && (mechanism !== '' || isTold)),
  );
  if (elsewhere === undefined) return;
  const missing = elsewhere.user === '' ? 'KAFKA_SASL_USERNAME' : 'KAFKA_SASL_PASSWORD';
  throw new UsageError(
    'password_elsewhere',
    `${elsewhere.path} has no ${missing}: give it there, or take the file away where no process has it`,
  );
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
