// New passwords at Kafka, Redis and ClickHouse, and in the files that processes have their variables of.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { readsAs, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS } from '#infra/config/service_config.ts';
import { otherMechanism, type ScramMechanism } from '#infra/kafka/scram.ts';
import { readRedisAddress } from '#infra/redis/address.ts';
import { asLogin, LOGIN_PARTS, type LoginPart, loginDigest } from '#infra/rights/logins.ts';
import { readJson } from '#services/stage/local_rotation.ts';
import {
  addBeside,
  clickhouseKeeper,
  kafkaKeeper,
  missingOf,
  newPasswords,
  type PasswordKeeper,
  type Passwords,
  redisKeeper,
  refusedOf,
} from '#services/stage/passwords.ts';
import { UsageError } from '../command.ts';
import { readMetrics } from '../status/observed.ts';
import { type Clock, rotateHere } from './ask_start.ts';
import {
  filesIn,
  type Replacement,
  type StagedFiles,
  stageFiles,
  sweepBeside,
  whileLocked,
  writeSecret,
} from './environment_files.ts';
import { type EnvFile, valueIn } from './environment_text.ts';
import {
  allLogins,
  mechanismIn,
  type NewLogins,
  passwordsByUser,
  refuseDifferentServers,
  refuseHalfLogins,
  VARIABLES,
  withLogins,
} from './file_logins.ts';
import type { Finished, PasswordChanges } from './password_commands.ts';

interface Ports {
  env: Environment;
  clock: Clock;
  nowMs(): number;
  /** The text of a process's metrics; null where it does not answer. */
  metricsOf(url: string): Promise<string | null>;
  say(line: string): void;
}

export function passwordChanges(ports: Ports): PasswordChanges {
  const { nowMs } = ports;
  return {
    rotateHere: (part) => rotateHere(part, ports),
    rotateIn: (part, folder) => whileLocked(folder, nowMs(), () => rotateIn(part, folder, ports)),
    finishIn: (part, folder, metrics) => whileLocked(folder, nowMs(), () => finishIn(part, folder, metrics, ports)),
  };
}

/** What is done is written down before it is begun, so that it goes on as it began. */
const PLAN = Type.Object({
  passwords: Type.Record(Type.String(), Type.String({ minLength: 1 })),
  mechanism: Type.Union([Type.Literal('scram-sha-256'), Type.Literal('scram-sha-512'), Type.Null()]),
});

const planPath = (folder: string, part: LoginPart): string => join(folder, `${part}.rotation.json`);

/** @throws RotationFileError */
function readPlan(folder: string, part: LoginPart): NewLogins | null {
  const path = planPath(folder, part);
  const todo = `take it away; where rotate is refused then, svc password finish ${part} goes back to the files`;
  return existsSync(path) ? readJson(path, (value) => Value.Parse(PLAN, value), todo) : null;
}

async function rotateIn(part: LoginPart, folder: string, ports: Ports): Promise<string[]> {
  const { env, say } = ports;
  const begun = readPlan(folder, part);
  const other = LOGIN_PARTS.find((one) => one !== part && existsSync(planPath(folder, one)));
  if (other !== undefined)
    throw new UsageError(
      'rotation_unfinished',
      `it was interrupted: svc password rotate ${other} goes on; where it cannot, take ${planPath(folder, other)} away and run svc password finish ${other}`,
    );
  const files = filesIn(folder);
  if (begun !== null) sweepBeside(files);
  if (part === 'kafka') refuseHalfLogins(files);
  refuseDifferentServers(part, files);
  if (part === 'clickhouse') refuseOtherDatabase(files, env);
  const plan = begun ?? (await newPlan(part, folder, files, env));
  const changes = files
    .map((file) => ({ file, text: withLogins(part, file, plan) }))
    .filter(({ file, text }) => text !== file.text);
  const keeper = await openKeeper(part, env, plan.mechanism, files);
  try {
    // What is refused is so before there is a plan, which would have to be taken away.
    const missing = await missingOf(keeper, plan.passwords);
    const staged = stageAfter(planPath(folder, part), begun === null ? plan : null, changes);
    try {
      say('adding new passwords beside the old');
      await addBeside(keeper, missing);
      if (part === 'clickhouse') await renewSources(plan, files, env);
      staged.commit();
    } finally {
      staged.discard();
    }
  } finally {
    await keeper.close();
  }
  rmSync(planPath(folder, part));
  return [
    `${Object.keys(plan.passwords).length} users of ${part} have new passwords beside the old, which the files in ${folder} have now.`,
    `Start the processes anew with them, then: svc password finish ${part} --environment ${folder}`,
    ...leftOut(part, files),
  ];
}

/** What is another server's, and stays as it is. */
function leftOut(part: LoginPart, files: readonly EnvFile[]): string[] {
  const isSecond = part === 'redis' && files.some((file) => valueIn(file, 'REDIS_SECONDARY_URL') !== '');
  return isSecond ? ['Those of REDIS_SECONDARY_URL are as they were: change them there and in the files by hand.'] : [];
}

/** Stages new texts of files once the plan is written, so that a plan tells whose they are. @param plan Null: it is written. */
function stageAfter(path: string, plan: NewLogins | null, changes: readonly Replacement[]): StagedFiles {
  if (plan !== null) writeSecret(path, JSON.stringify(plan));
  try {
    return stageFiles(changes);
  } catch (error) {
    if (plan !== null) rmSync(path);
    throw error;
  }
}

/** @throws UsageError where the files do not have the passwords by which users sign in now */
async function newPlan(
  part: LoginPart,
  folder: string,
  files: readonly EnvFile[],
  env: Environment,
): Promise<NewLogins> {
  const logins = passwordsByUser(allLogins(part, files));
  if (logins.size === 0) throw new UsageError('logins_missing', `no file of ${folder} has ${VARIABLES[part][0]}`);
  const mechanism = part === 'kafka' ? mechanismIn(files) : null;
  const keeper = await openKeeper(part, env, mechanism, files);
  try {
    const passwords = await freshPasswords(part, keeper, [...logins.keys()]);
    await refuseRefused(keeper, logins, 'none was changed');
    return { passwords, mechanism: mechanism === null ? null : otherMechanism(mechanism) };
  } finally {
    await keeper.close();
  }
}

async function refuseRefused(keeper: PasswordKeeper, logins: ReadonlyMap<string, string>, end: string): Promise<void> {
  const [refused] = Object.keys(await refusedOf(keeper, Object.fromEntries(logins)));
  if (refused !== undefined)
    throw new UsageError('password_refused', `${refused} cannot sign in by the password of its file: ${end}`);
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
): Promise<Finished> {
  if (readPlan(folder, part) !== null)
    throw new UsageError(
      'rotation_unfinished',
      `svc password rotate ${part} was interrupted, and goes on when it is run again; where it cannot, take ${planPath(folder, part)} away: svc password finish ${part} goes back to the passwords of the files then`,
    );
  const files = filesIn(folder);
  const all = allLogins(part, files);
  const logins = passwordsByUser(all);
  if (logins.size === 0) throw new UsageError('logins_missing', `no file of ${folder} has ${VARIABLES[part][0]}`);
  refuseDifferentServers(part, files);
  const asked = metrics === null ? new Set(logins.keys()) : await usersAsked(part, all, metrics, metricsOf);
  const mechanism = part === 'kafka' ? mechanismIn(files) : null;
  const keeper = await openKeeper(part, env, mechanism, files, logins);
  try {
    await refuseRefused(keeper, logins, 'none was ended');
    const ended = [...logins].filter(([user]) => asked.has(user));
    if (ended.length > 0) await keeper.keepOnly(Object.fromEntries(ended));
  } finally {
    await keeper.close();
  }
  const kept = [...logins.keys()].filter((user) => !asked.has(user));
  return {
    says: [
      `${logins.size - kept.length} users of ${part} have one password each: that of their file.`,
      ...(kept.length === 0
        ? []
        : [`No process was asked that signs in as ${kept.join(', ')}: their old ones stay (--force ends them).`]),
    ],
    kept,
  };
}

/** It runs once, with what its file has then: there is no process to ask. */
const ONCE_FILE = 'provision.env';

/**
 * Of whom every process that a file names was asked, as far as files tell: those of the others may sign in by an old password.
 *
 * @throws UsageError where a process signs in by another password than that of the files, or was not asked
 */
async function usersAsked(
  part: LoginPart,
  all: ReturnType<typeof allLogins>,
  urls: readonly string[],
  metricsOf: Ports['metricsOf'],
): Promise<ReadonlySet<string>> {
  const logins = passwordsByUser(all);
  const processesOf = new Map<string, Set<string>>();
  for (const url of new Set(urls)) {
    const text = await metricsOf(url);
    if (text === null) throw new UsageError('process_silent', `${url} does not answer: no password was ended`);
    const told = readMetrics(text)('svc_login');
    if (told.length === 0)
      throw new UsageError('process_unasked', `${url} does not say as whom it signs in: no password was ended`);
    for (const { labels } of told) {
      const { user = '', digest, process = url } = labels;
      const password = labels['part'] === part ? logins.get(user) : undefined;
      if (password === undefined) continue;
      if (digest !== loginDigest(part, user, password))
        throw new UsageError('password_in_use', `${url} signs in by an old password of ${user}: start it anew first`);
      processesOf.set(user, (processesOf.get(user) ?? new Set()).add(process));
    }
  }
  const namesOf = (user: string): string[] =>
    all.flatMap((login) => (login.user === user ? login.file.names : [])).filter((name) => name !== ONCE_FILE);
  for (const [user, { size }] of processesOf) {
    const files = new Set(namesOf(user)).size;
    if (size < files)
      throw new UsageError(
        'process_unasked',
        `${files} files have processes sign in as ${user}, of which ${size} were asked: no password was ended`,
      );
  }
  return new Set(processesOf.keys());
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
      const [brokers = config.brokers] = files.flatMap((file) => {
        const named = valueIn(file, 'KAFKA_BROKERS');
        return named === '' ? [] : [named.split(',')];
      });
      return kafkaKeeper({ ...config, sasl }, { ...config, brokers }, mechanism);
    }
    default:
      return part satisfies never;
  }
}

/** Dictionaries are looked for in one database. @throws UsageError `database_differs` */
function refuseOtherDatabase(files: readonly EnvFile[], env: Environment): void {
  const { clickhouseUrl } = readSettings(Type.Object({ clickhouseUrl: PARTS.properties.clickhouseUrl }), env);
  const { database } = readClickhouseLogin(clickhouseUrl);
  for (const file of files) {
    const url = valueIn(file, 'CLICKHOUSE_URL');
    if (url !== '' && readClickhouseLogin(url).database !== database)
      throw new UsageError(
        'database_differs',
        `${file.path}: CLICKHOUSE_URL is of another database than ${database}: run this with a CLICKHOUSE_URL of that one`,
      );
  }
}

/** Dictionaries read as a user whose password they hold: they are to hold the new one before the old one ends. */
async function renewSources({ passwords }: NewLogins, files: readonly EnvFile[], env: Environment): Promise<void> {
  const { clickhouseUrl, clickhouseCluster } = PARTS.properties;
  const parts = readSettings(Type.Object({ clickhouseUrl, clickhouseCluster }), env);
  for (const { user, password: old } of allLogins('clickhouse', files)) {
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
