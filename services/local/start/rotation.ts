// New passwords for the users of the parts that run here, while everything runs: what `svc password rotate` asks for.

import { randomBytes } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { KafkaConfig } from '#infra/config/service_config.ts';
import type { Kafka } from '#infra/kafka/client.ts';
import { endScram, otherMechanism, setScram } from '#infra/kafka/scram.ts';
import { asLogin, type LoginPart } from '#infra/rights/logins.ts';
import {
  type LocalRotation,
  RotationFileError,
  readRequest,
  readState,
  requestPath,
  statePath,
} from '#services/stage/local_rotation.ts';
import {
  addBeside,
  clickhouseKeeper,
  kafkaKeeper,
  missingOf,
  newPasswords,
  type PasswordKeeper,
  type Passwords,
  redisKeeper,
} from '#services/stage/passwords.ts';
import { writeUsers } from '../parts/clickhouse/clickhouse.ts';
import {
  credentialsPath,
  LOCAL_USERS,
  type ProcessLogins,
  readListeners,
  readPasswords,
  SERVICE_USER,
  writeListeners,
  writeSecret,
} from '../parts/clickhouse/users.ts';
import type { LocalParts } from '../parts/parts.ts';
import { LocalError } from '../parts/tools.ts';

/** Has the brokers' users have the passwords of the data folder, and no others. */
export async function applyLogins(
  kafka: Kafka,
  { mechanism, passwords }: NonNullable<ProcessLogins['kafka']>,
): Promise<void> {
  const users = Object.entries(passwords);
  await setScram(
    kafka,
    users.map(([user, password]) => ({ user, mechanism, password })),
    randomBytes,
  );
  await endScram(
    kafka,
    users.map(([user]) => ({ user, mechanism: otherMechanism(mechanism) })),
  );
}

interface RotationOptions {
  dataDir: string;
  parts: LocalParts;
  /** As who may alter the brokers' users. */
  kafka: KafkaConfig;
  /** Starts processes anew whose logins have changed, one after the other. */
  renewProcesses(): Promise<void>;
  say(line: string): void;
}

const POLL_MS = 500;
const RENEWED_MS_MAX = 900_000;

/**
 * Does what is asked for, one after the other. What an earlier start was doing has ended with it: it is said. What was asked of
 * nobody is not done: whoever asked has given up, or asks again.
 */
export function watchRotations(options: RotationOptions): void {
  const { dataDir, parts, say } = options;
  const request = requestPath(dataDir);
  const taken = `${request}.taken`;
  const tell = (rotation: LocalRotation): void => writeSecret(statePath(dataDir), rotation);
  for (const path of [request, taken]) rmSync(path, { force: true });
  const left = stateLeft(options);
  if (left?.state === 'running')
    tell({ ...left, state: 'failed', says: 'npm start ended meanwhile: run it again', isHalf: false });
  // This start has given the part one password of each user.
  else if (left?.isHalf === true) tell({ ...left, isHalf: false });
  const rotate = createRotation({
    adopt: (part) => adoptNew(part, options),
    renewProcesses: options.renewProcesses,
    end: (part, passwords) => withKeeper(part, options, 'now', (keeper) => keeper.keepOnly(passwords)),
  });
  const look = async (): Promise<void> => {
    if (!takes(request, taken)) return;
    const { id, part } = readRequest(taken);
    let isHalf = false;
    try {
      if (parts.parts[part] === undefined) {
        throw new LocalError(
          'local_part_elsewhere',
          `${part} does not run here: svc password rotate ${part} --environment FOLDER`,
        );
      }
      const begin = (says: string): void => {
        isHalf = true;
        tell({ id, part, state: 'running', says, isHalf });
      };
      begin('adding new passwords beside the old');
      await rotate(part, begin);
      tell({ id, part, state: 'done', says: '', isHalf: false });
      say(`the passwords of ${part} were changed`);
    } catch (error) {
      const { code = 'failed', message } = error as Error & { code?: string };
      tell({ id, part, state: 'failed', says: `${code}: ${message}`, isHalf });
      say(`the passwords of ${part} were not changed: ${code}`);
    }
  };
  repeat(
    look,
    () => POLL_MS,
    (error) => say(`${request} cannot be used: ${String(error)}`),
  );
}

/** Whether there was a file, which has the other name now: whoever made it may take it back until then. */
function takes(path: string, taken: string): boolean {
  try {
    renameSync(path, taken);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function stateLeft({ dataDir, say }: RotationOptions): LocalRotation | null {
  try {
    return readState(dataDir);
  } catch (error) {
    if (!(error instanceof RotationFileError)) throw error;
    say(`${error.message}, which was done`);
    rmSync(statePath(dataDir));
    return null;
  }
}

/** What a rotation does to a part and to whom signs in there. */
interface Steps {
  /** Gives the part new passwords beside the old, and resolves to them once what is started signs in by them. */
  adopt(part: LoginPart): Promise<Passwords>;
  renewProcesses(): Promise<void>;
  /** Ends all passwords but these. */
  end(part: LoginPart, passwords: Passwords): Promise<void>;
}

/**
 * A rotation goes on where the one before ended: what is drawn anew while processes sign in by old passwords would shut them out
 * (Kafka's new password takes the place of the older of two).
 *
 * @throws LocalError `local_process_not_ready` where processes take longer; they are waited for when it is run again
 */
export function createRotation({ adopt, renewProcesses, end }: Steps, renewedMsMax = RENEWED_MS_MAX) {
  const adopted = new Map<LoginPart, Passwords>();
  let renewal: Promise<void> | null = null;
  return async (part: LoginPart, tell: (says: string) => void): Promise<void> => {
    const passwords = adopted.get(part) ?? (await adopt(part));
    adopted.set(part, passwords);
    tell('starting the processes with them, one after the other');
    renewal ??= renewProcesses().finally(() => {
      renewal = null;
    });
    const late = sleep(renewedMsMax, 'late' as const, { ref: false });
    if ((await Promise.race([renewal, late])) === 'late')
      throw new LocalError('local_process_not_ready', 'see npm run svc -- status, then run it again');
    tell('ending the old passwords');
    await end(part, passwords);
    adopted.delete(part);
  };
}

/**
 * Each step leaves everything able to sign in. A start that ends in between goes on from credentials.json: the next one gives the
 * part the passwords that stand there, and no others.
 */
async function adoptNew(part: LoginPart, options: RotationOptions): Promise<Passwords> {
  const { dataDir, parts } = options;
  const before = readPasswords(credentialsPath(dataDir, part));
  const after = await withKeeper(part, options, 'next', async (keeper) => {
    const there = await keeper.counts(Object.keys(before));
    const passwords = newPasswords([...there.keys()].filter((user) => !isReader(user)));
    await addBeside(keeper, await missingOf(keeper, passwords));
    return passwords;
  });
  if (part === 'clickhouse')
    await renewSources(asLogin(parts.addresses.clickhouseUrl, SERVICE_USER, after[SERVICE_USER] ?? ''));
  adopt(part, options, { ...before, ...after });
  return after;
}

/** Nobody signs in as one of these. */
const isReader = (user: string): boolean => LOCAL_USERS.some((one) => one.name === user && one.isReader === true);

/** From here on what is started signs in by the new passwords. */
function adopt(part: LoginPart, { dataDir, parts: { addresses } }: RotationOptions, passwords: Passwords): void {
  const own = passwords[SERVICE_USER] ?? '';
  const listeners = readListeners(dataDir);
  writeSecret(credentialsPath(dataDir, part), passwords);
  if (part === 'kafka' && listeners !== null)
    writeListeners(dataDir, { ...listeners, mechanism: otherMechanism(listeners.mechanism) });
  if (part === 'redis') addresses.redisUrl = asLogin(addresses.redisUrl, SERVICE_USER, own);
  if (part === 'clickhouse') addresses.clickhouseUrl = asLogin(addresses.clickhouseUrl, SERVICE_USER, own);
}

/** Has the dictionaries read with another password before the one ends that they read with. */
async function renewSources(url: string): Promise<void> {
  const warehouse = createWarehouse(url);
  try {
    await renewDictionaries(warehouse, url);
  } finally {
    await warehouse.close();
  }
}

/** @param which Whose mechanism Kafka's passwords are to have: that of the data folder, or the other one. */
async function withKeeper<T>(
  part: LoginPart,
  options: RotationOptions,
  which: 'now' | 'next',
  work: (keeper: PasswordKeeper) => Promise<T>,
): Promise<T> {
  const keeper = await keeperOf(part, options, which);
  try {
    return await work(keeper);
  } finally {
    await keeper.close();
  }
}

async function keeperOf(part: LoginPart, options: RotationOptions, which: 'now' | 'next'): Promise<PasswordKeeper> {
  const { dataDir, parts, kafka } = options;
  const { redisUrl } = parts.addresses;
  switch (part) {
    case 'redis':
      return redisKeeper({ redisUrl, redisCluster: false });
    case 'clickhouse':
      return localClickhouse(options);
    case 'kafka': {
      const listeners = readListeners(dataDir);
      if (listeners === null) throw new Error('kafka/listeners.json is missing');
      const mechanism = which === 'now' ? listeners.mechanism : otherMechanism(listeners.mechanism);
      return kafkaKeeper(kafka, { ...kafka, brokers: listeners.saslBrokers.split(',') }, mechanism);
    }
    default:
      return part satisfies never;
  }
}

/** This server has its users in a file, which it reads when it starts: that takes a second, in which requests wait. */
function localClickhouse({ dataDir, parts }: RotationOptions): PasswordKeeper {
  const { clickhouseUrl } = parts.addresses;
  const keeper = clickhouseKeeper({ clickhouseUrl, clickhouseCluster: null });
  const startWith = async (beside: Passwords): Promise<void> => {
    writeUsers(join(dataDir, 'clickhouse'), beside);
    await parts.parts.clickhouse?.stop();
    await parts.parts.clickhouse?.start();
  };
  return { ...keeper, add: startWith, keepOnly: () => startWith({}) };
}
