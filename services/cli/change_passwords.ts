// New passwords at Kafka, Redis and ClickHouse, and in the files that processes have their variables of.

import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { readClickhouseLogin } from '#infra/clickhouse/address.ts';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { readsAs, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS } from '#infra/config/service_config.ts';
import { isScram, otherMechanism, type ScramMechanism } from '#infra/kafka/scram.ts';
import { readRedisAddress } from '#infra/redis/address.ts';
import { asLogin, type LoginPart, loginDigest } from '#infra/rights/logins.ts';
import {
  addBeside,
  clickhouseKeeper,
  kafkaKeeper,
  type LocalRotation,
  newPasswords,
  type PasswordKeeper,
  type Passwords,
  ROTATION_FILE,
  redisKeeper,
  refusedOf,
} from '#services/stage/passwords.ts';
import { UsageError } from './command.ts';
import { localFolder, readReadyFile } from './local_folder.ts';
import type { PasswordChanges } from './passwords.ts';
import { readMetrics } from './status/metrics_text.ts';

/** Where they stand: of Kafka beside the user, of the others in addresses. */
const VARIABLES: Record<LoginPart, readonly string[]> = {
  kafka: ['KAFKA_SASL_PASSWORD'],
  redis: ['REDIS_URL', 'REDIS_SECONDARY_URL'],
  clickhouse: ['CLICKHOUSE_URL', 'CONTROL_SQL_URL', 'CONTROL_ANALYSTS_URL'],
};

/** What is done is written down before it is begun, so that it goes on as it began: `mechanism` is Kafka's new one. */
interface Plan {
  passwords: Passwords;
  mechanism: ScramMechanism | null;
}

interface Ports {
  env: Environment;
  /** The text of a process's metrics; null where it does not answer. */
  metricsOf(url: string): Promise<string | null>;
  say(line: string): void;
}

export function passwordChanges(ports: Ports): PasswordChanges {
  return {
    rotateHere: (part) => rotateHere(part, ports),
    rotateIn: (part, folder) => rotateIn(part, folder, ports),
    finishIn: (part, folder, metrics) => finishIn(part, folder, metrics, ports),
  };
}

/** What was asked for is sound, and was not done. */
class RotationError extends Error {
  readonly code: 'rotation_failed' | 'rotation_late';

  constructor(code: RotationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const POLL_MS = 200;
const HERE_MS_MAX = 1_200_000;

/** Asks `npm start`, which does it, also without this command. */
async function rotateHere(part: LoginPart, { env, say }: Ports): Promise<string[]> {
  if (readReadyFile(env) === null)
    throw new UsageError('not_running', 'nothing runs here: npm start; for parts elsewhere --environment FOLDER');
  const path = join(localFolder(env), ROTATION_FILE);
  const read = (): LocalRotation | null => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null);
  const before = read();
  if (before?.state !== 'running' && before?.state !== 'asked')
    writeWhole(path, JSON.stringify({ part, state: 'asked', says: '' } satisfies LocalRotation));
  else if (before.part !== part)
    throw new UsageError('rotation_unfinished', `the passwords of ${before.part} are being changed`);
  const deadlineMs = performance.now() + HERE_MS_MAX;
  for (let said = ''; performance.now() < deadlineMs; await sleep(POLL_MS)) {
    const rotation = read();
    if (rotation?.state === 'done') return [`The users of ${part} have new passwords; the old ones are refused.`];
    if (rotation?.state === 'failed') throw new RotationError('rotation_failed', rotation.says);
    if (rotation !== null && rotation.says !== said) say(rotation.says);
    said = rotation?.says ?? '';
  }
  throw new RotationError('rotation_late', 'npm start has not done it: see what it says');
}

async function rotateIn(part: LoginPart, folder: string, { env, say }: Ports): Promise<string[]> {
  const files = filesIn(folder);
  const path = planPath(folder, part);
  const begun: Plan | null = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
  const users = [...loginsIn(part, files).keys()];
  if (users.length === 0) throw new UsageError('logins_missing', `no file of ${folder} has ${VARIABLES[part][0]}`);
  const mechanism = begun?.mechanism ?? (part === 'kafka' ? otherMechanism(mechanismIn(files)) : null);
  const keeper = await openKeeper(part, env, mechanism, files);
  try {
    const plan = begun ?? { passwords: await freshPasswords(part, keeper, users), mechanism };
    if (begun === null) writeWhole(path, JSON.stringify(plan));
    say('adding new passwords beside the old');
    await addBeside(keeper, plan.passwords);
    if (part === 'clickhouse') await renewSources(plan, files, env);
    for (const { path: file, text } of files) {
      const changed = withPasswords(part, text, plan);
      if (changed !== text) writeWhole(file, changed);
    }
    rmSync(path);
  } finally {
    await keeper.close();
  }
  return [
    `${users.length} users of ${part} have new passwords beside the old, which the files in ${folder} have now.`,
    `Start the processes anew with them, then: svc password finish ${part} --environment ${folder}`,
  ];
}

/** @throws UsageError where a user is unknown, or an earlier rotation is not over: one of its passwords may be in use. */
async function freshPasswords(part: LoginPart, keeper: PasswordKeeper, users: readonly string[]): Promise<Passwords> {
  const counts = await keeper.counts(users);
  const unknown = users.find((user) => !counts.has(user));
  if (unknown !== undefined) throw new UsageError('user_unknown', `${part} knows no user ${unknown} with a password`);
  const second = users.find((user) => (counts.get(user) ?? 0) > 1);
  if (second !== undefined)
    throw new UsageError('rotation_unfinished', `${second} has an old password too: svc password finish ${part}`);
  return newPasswords(users);
}

async function finishIn(
  part: LoginPart,
  folder: string,
  metrics: readonly string[] | null,
  { env, metricsOf }: Ports,
): Promise<string[]> {
  if (existsSync(planPath(folder, part)))
    throw new UsageError('rotation_unfinished', `it was interrupted: svc password rotate ${part} goes on`);
  const files = filesIn(folder);
  const logins = loginsIn(part, files);
  const seen = metrics === null ? null : await usersSeen(part, logins, metrics, metricsOf);
  const mechanism = part === 'kafka' ? mechanismIn(files) : null;
  const keeper = await openKeeper(part, env, mechanism, files, logins);
  try {
    const [refused] = Object.keys(await refusedOf(keeper, Object.fromEntries(logins)));
    if (refused !== undefined)
      throw new UsageError('password_refused', `${refused} cannot sign in by the password of its file: none was ended`);
    await keeper.keepOnly(Object.fromEntries(logins));
  } finally {
    await keeper.close();
  }
  const unseen = seen === null ? [] : [...logins.keys()].filter((user) => !seen.has(user));
  return [
    `The ${logins.size} users of ${part} have one password each: that of their file.`,
    ...(unseen.length === 0 ? [] : [`No process was asked that signs in as ${unseen.join(', ')}.`]),
  ];
}

/** @throws UsageError where a process signs in by another password than that of the files, or does not answer. */
async function usersSeen(
  part: LoginPart,
  logins: ReadonlyMap<string, string>,
  urls: readonly string[],
  metricsOf: Ports['metricsOf'],
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for (const url of urls) {
    const text = await metricsOf(url);
    if (text === null) throw new UsageError('process_silent', `${url} does not answer: no password was ended`);
    for (const { labels } of readMetrics(text)('svc_login')) {
      const { user = '', digest } = labels;
      const password = labels['part'] === part ? logins.get(user) : undefined;
      if (password === undefined) continue;
      if (digest !== loginDigest(part, user, password))
        throw new UsageError('password_in_use', `${url} signs in by an old password of ${user}: start it anew first`);
      seen.add(user);
    }
  }
  return seen;
}

/** @param logins Those by which the own user signs in, where it is one of them. */
async function openKeeper(
  part: LoginPart,
  env: Environment,
  mechanism: ScramMechanism | null,
  files: readonly EnvFile[],
  logins: ReadonlyMap<string, string> = new Map(),
): Promise<PasswordKeeper> {
  const { kafka, redisUrl, redisCluster, clickhouseUrl, clickhouseCluster } = PARTS.properties;
  const own = (address: string, user = ''): string => {
    const password = logins.get(user);
    return password === undefined ? address : asLogin(address, user, password);
  };
  switch (part) {
    case 'redis': {
      const parts = readSettings(Type.Object({ redisUrl, redisCluster }), env);
      return redisKeeper({ ...parts, redisUrl: own(parts.redisUrl, readRedisAddress(parts.redisUrl).username) });
    }
    case 'clickhouse': {
      const parts = readSettings(Type.Object({ clickhouseUrl, clickhouseCluster }), env);
      const { username } = readClickhouseLogin(parts.clickhouseUrl);
      return clickhouseKeeper({ ...parts, clickhouseUrl: own(parts.clickhouseUrl, username) });
    }
    case 'kafka': {
      if (mechanism === null) throw new Error('Kafka has a mechanism');
      const { config } = readSettings(Type.Object({ config: kafka }), env);
      const password = logins.get(config.sasl?.username ?? '');
      const sasl = config.sasl && password !== undefined ? { ...config.sasl, mechanism, password } : config.sasl;
      // Who manages users may do so at a listener of its own.
      const [brokers = config.brokers] = files.flatMap(({ text }) => {
        const named = valueIn(text, 'KAFKA_BROKERS');
        return named === '' ? [] : [named.split(',')];
      });
      return kafkaKeeper({ ...config, sasl }, { ...config, brokers }, mechanism);
    }
    default:
      return part satisfies never;
  }
}

/** Dictionaries read as a user whose password they hold: they are to hold the new one before the old one ends. */
async function renewSources({ passwords }: Plan, files: readonly EnvFile[], env: Environment): Promise<void> {
  const { clickhouseUrl, clickhouseCluster } = PARTS.properties;
  const parts = readSettings(Type.Object({ clickhouseUrl, clickhouseCluster }), env);
  for (const [user, old] of loginsIn('clickhouse', files)) {
    const url = asLogin(parts.clickhouseUrl, user, passwords[user] ?? old);
    const warehouse = createWarehouse(parts.clickhouseUrl);
    try {
      if (!(await readsAs(warehouse, asLogin(parts.clickhouseUrl, user, old), parts.clickhouseCluster))) continue;
    } finally {
      await warehouse.close();
    }
    const reader = createWarehouse(url);
    try {
      await renewDictionaries(reader, url, parts.clickhouseCluster);
    } finally {
      await reader.close();
    }
  }
}

interface EnvFile {
  path: string;
  text: string;
}

function filesIn(folder: string): EnvFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.env'))
    .sort()
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }));
}

const planPath = (folder: string, part: LoginPart): string => join(folder, `${part}.${ROTATION_FILE}`);

/** Writes a file whole or not at all: for its owner alone, or for those whom the one in its place is for. */
function writeWhole(path: string, text: string): void {
  const before = statSync(path, { throwIfNoEntry: false });
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  if (before !== undefined) {
    chownSync(`${path}.new`, before.uid, before.gid);
    chmodSync(`${path}.new`, before.mode & 0o7777);
  }
  renameSync(`${path}.new`, path);
}

/** `NAME=value`, with the value in quotes or not. */
const lineOf = (name: string): RegExp => new RegExp(`^(${name}=(["']?))(.*?)(\\2[ \\t]*)$`, 'm');
const valueIn = (text: string, name: string): string => lineOf(name).exec(text)?.[3] ?? '';

function mechanismIn(files: readonly EnvFile[]): ScramMechanism {
  const all = new Set(files.map(({ text }) => valueIn(text, 'KAFKA_SASL_MECHANISM').toLowerCase()));
  all.delete('');
  const [mechanism = 'none'] = all;
  if (all.size === 1 && isScram(mechanism)) return mechanism;
  const why = 'PLAIN keeps passwords in the settings of the brokers';
  throw new UsageError(
    'mechanism_unknown',
    `the files need one KAFKA_SASL_MECHANISM, which is scram-sha-256 or -512: ${why}`,
  );
}

/** As whom a variable of a file signs in; null where it signs in as nobody. */
function loginOf(part: LoginPart, text: string, variable: string): { user: string; password: string } | null {
  const value = valueIn(text, variable);
  if (value === '') return null;
  const { username = '', password = '' } =
    part === 'kafka'
      ? { username: valueIn(text, 'KAFKA_SASL_USERNAME'), password: value }
      : part === 'redis'
        ? readRedisAddress(value)
        : readClickhouseLogin(value);
  return username === '' || password === '' ? null : { user: username, password };
}

/** Passwords by user. @throws UsageError where two files have two of one user */
function loginsIn(part: LoginPart, files: readonly EnvFile[]): Map<string, string> {
  const logins = new Map<string, string>();
  for (const { path, text } of files) {
    for (const variable of VARIABLES[part]) {
      const login = loginOf(part, text, variable);
      if (login === null || isOther(text, variable)) continue;
      const { user, password } = login;
      if ((logins.get(user) ?? password) !== password)
        throw new UsageError(
          'passwords_differ',
          `${path}: ${variable} has another password of ${user} than a file before`,
        );
      logins.set(user, password);
    }
  }
  return logins;
}

/** Whether a variable leads to another server than that of its part. */
function isOther(text: string, variable: string): boolean {
  if (variable !== 'REDIS_SECONDARY_URL') return false;
  const [first, second] = [valueIn(text, 'REDIS_URL'), valueIn(text, variable)].map((url) =>
    url === '' ? '' : JSON.stringify(readRedisAddress(url).nodes),
  );
  return first !== second;
}

/** The text of a file with the passwords of a plan; that of one which has them stays as it is. */
function withPasswords(part: LoginPart, text: string, { passwords, mechanism }: Plan): string {
  const set = (before: string, variable: string, value: string): string =>
    before.replace(lineOf(variable), (_line, start: string, _quote, _value, end: string) => `${start}${value}${end}`);
  let changed = text;
  for (const variable of VARIABLES[part]) {
    const login = loginOf(part, text, variable);
    const password = login === null || isOther(text, variable) ? undefined : passwords[login.user];
    if (login === null || password === undefined) continue;
    const value = part === 'kafka' ? password : asLogin(valueIn(text, variable), login.user, password);
    changed = set(changed, variable, value);
  }
  return mechanism === null ? changed : set(changed, 'KAFKA_SASL_MECHANISM', mechanism);
}
