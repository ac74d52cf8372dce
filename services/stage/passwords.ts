// Passwords of users at Kafka, Redis and ClickHouse: a new one beside the old, and then the new one alone.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse, select, WarehouseError } from '#infra/clickhouse/client.ts';
import * as clickhouse from '#infra/clickhouse/passwords.ts';
import { readClickhouseAddress } from '#infra/clickhouse/servers.ts';
import type { ClickhouseParts, KafkaConfig, RedisParts } from '#infra/config/service_config.ts';
import { createKafka, withAdmin } from '#infra/kafka/client.ts';
import { endScram, otherMechanism, type ScramMechanism, scramMechanisms, setScram } from '#infra/kafka/scram.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/connection.ts';
import * as redis from '#infra/redis/passwords.ts';
import { serversOf } from '#infra/redis/passwords.ts';
import { asLogin } from '#infra/rights/logins.ts';

/** Passwords by user. */
export type Passwords = Readonly<Record<string, string>>;

/** A part as one who may manage its users. */
export interface PasswordKeeper {
  /**
   * How many passwords each of these users may sign in with; those that there are not are absent. Rejects where one signs in by
   * any password.
   */
  counts(users: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Whether every server lets a user in by a password. */
  signsIn(user: string, password: string): Promise<boolean>;
  /** Rejects where nobody may give these users passwords by this login; changes nothing of them. */
  refuseUnchangeable(users: readonly string[]): Promise<void>;
  /** Lets users in by these passwords as well. */
  add(passwords: Passwords): Promise<void>;
  /** Ends all other passwords of these users. */
  keepOnly(passwords: Passwords): Promise<void>;
  /** Rejects where what was changed would not outlive a restart of the part. */
  persist(): Promise<void>;
  close(): Promise<void>;
}

const outlivesRestart = async (): Promise<void> => undefined;

/** The part does not let a user in by a password that it was given. */
class PasswordNotTakenError extends Error {
  readonly code = 'password_not_taken';
}

/** Brokers learn of a change one after the other. */
const TAKEN_MS_MAX = 60_000;
const POLL_MS = 250;

/**
 * Of passwords that users are to have beside the old those by which they are not let in yet; rejects where the part would not take
 * or keep them, with nothing changed.
 */
export async function missingOf(keeper: PasswordKeeper, passwords: Passwords): Promise<Passwords> {
  await keeper.persist();
  const refused = await refusedOf(keeper, passwords);
  await keeper.refuseUnchangeable(Object.keys(refused));
  return refused;
}

/**
 * Lets users in by new passwords beside the old; safe to repeat. @throws PasswordNotTakenError where they are not let in
 *
 * @param missing As missingOf says: an earlier attempt may have added the others and failed then.
 */
export async function addBeside(keeper: PasswordKeeper, missing: Passwords): Promise<void> {
  if (Object.keys(missing).length > 0) {
    await keeper.add(missing);
    await keeper.persist();
  }
  const deadlineMs = performance.now() + TAKEN_MS_MAX;
  for (let left = missing; ; await sleep(POLL_MS)) {
    left = await refusedOf(keeper, left);
    const [user] = Object.keys(left);
    if (user === undefined) return;
    if (performance.now() > deadlineMs) throw new PasswordNotTakenError(`${user} cannot sign in by its new password`);
  }
}

/** Those by which users are not let in. */
export async function refusedOf(keeper: PasswordKeeper, passwords: Passwords): Promise<Passwords> {
  const refused: Record<string, string> = {};
  for (const [user, password] of Object.entries(passwords))
    if (!(await keeper.signsIn(user, password))) refused[user] = password;
  return refused;
}

/** New passwords for these users, of letters, digits, `-` and `_`: they stand in addresses as they are. */
export const newPasswords = (users: readonly string[]): Passwords =>
  Object.fromEntries(users.map((user) => [user, randomBytes(24).toString('base64url')]));

const silent = createLogger('passwords', 'silent');

/** @throws RedisUnavailableError, RedisReplicaUntoldError */
export async function redisKeeper({ redisUrl, redisCluster }: RedisParts): Promise<PasswordKeeper> {
  const connection = createRedis(redisUrl, silent, redisCluster);
  const found = await serversOf(connection).catch((error: unknown) => {
    connection.disconnect();
    throw error;
  });
  const servers = found.all;
  return {
    async counts(users) {
      await redis.refuseOpenUsers(servers, users);
      return redis.passwordCounts(servers, users);
    },
    async signsIn(user, password) {
      for (const server of servers) if (!(await redis.signsIn(server, user, password))) return false;
      return true;
    },
    refuseUnchangeable: (users) => redis.refuseUnchangeable(servers, users),
    add: (passwords) => redis.addPasswords(servers, passwords),
    async keepOnly(passwords) {
      await redis.refuseOpenUsers(servers, Object.keys(passwords));
      await redis.keepOnlyPasswords(servers, passwords);
      await redis.saveUsers(servers);
    },
    persist: () => redis.saveUsers(servers),
    async close() {
      found.close();
      connection.disconnect();
    },
  };
}

/**
 * A user has one password a mechanism: the new one is of `mechanism`, what it holds else is the old one.
 *
 * @param admin As one who may alter the brokers' users.
 * @param listener Where users sign in.
 */
export function kafkaKeeper(admin: KafkaConfig, listener: KafkaConfig, mechanism: ScramMechanism): PasswordKeeper {
  const kafka = createKafka(admin, `${admin.prefix}.passwords`, silent);
  return {
    async counts(users) {
      return new Map([...(await scramMechanisms(kafka, users))].map(([user, { length }]) => [user, length]));
    },
    async signsIn(username, password) {
      for (const broker of listener.brokers) {
        const config = { ...listener, brokers: [broker], sasl: { mechanism, username, password } };
        if (!(await letsIn(config))) return false;
      }
      return true;
    },
    // To end what is not there changes nothing, and takes the right to.
    refuseUnchangeable: (users) =>
      endScram(
        kafka,
        users.map((user) => ({ user, mechanism })),
      ),
    add: (passwords) =>
      setScram(
        kafka,
        Object.entries(passwords).map(([user, password]) => ({ user, mechanism, password })),
        randomBytes,
      ),
    keepOnly: (passwords) =>
      endScram(
        kafka,
        Object.keys(passwords).map((user) => ({ user, mechanism: otherMechanism(mechanism) })),
      ),
    persist: outlivesRestart,
    close: async () => undefined,
  };
}

/** The listener where users sign in has only one of the two mechanisms. */
class MechanismUnsupportedError extends Error {
  readonly code = 'mechanism_unsupported';

  constructor(mechanism: string | undefined, cause: unknown) {
    super(`the brokers' listener takes no ${mechanism}: add it to sasl.enabled.mechanisms`, { cause });
  }
}

const UNSUPPORTED = /UNSUPPORTED_SASL_MECHANISM|mechanism is not supported/;

function isUnsupported(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (UNSUPPORTED.test(`${(cause as { type?: string }).type} ${cause.message}`)) return true;
  return false;
}

async function letsIn(config: KafkaConfig): Promise<boolean> {
  try {
    return await withAdmin(createKafka(config, `${config.prefix}.passwords`, silent, 1), async () => true);
  } catch (error) {
    if (isUnsupported(error)) throw new MechanismUnsupportedError(config.sasl?.mechanism, error);
    if ((error as { code?: unknown }).code === 'kafka_login_refused') return false;
    throw error;
  }
}

export function clickhouseKeeper({ clickhouseUrl, clickhouseCluster }: ClickhouseParts): PasswordKeeper {
  const warehouse = createWarehouse(clickhouseUrl);
  return {
    counts: (users) => clickhouse.passwordCounts(warehouse, clickhouseCluster, users),
    signsIn: (user, password) => warehouseLetsIn(clickhouseUrl, user, password),
    refuseUnchangeable: async () => undefined,
    add: (passwords) => clickhouse.addPasswords(warehouse, clickhouseCluster, passwords),
    keepOnly: (passwords) => clickhouse.keepOnlyPasswords(warehouse, clickhouseCluster, passwords),
    persist: outlivesRestart,
    close: () => warehouse.close(),
  };
}

/** Whether each server of an address lets a user in. @throws WarehouseError where one does not answer */
async function warehouseLetsIn(address: string, user: string, password: string): Promise<boolean> {
  for (const url of readClickhouseAddress(asLogin(address, user, password))) {
    const warehouse = createWarehouse(url);
    try {
      await select(warehouse, 'SELECT 1');
    } catch (error) {
      // What else it refuses, it refuses somebody it knows.
      if (!(error instanceof WarehouseError)) throw error;
      if (/AUTHENTICATION_FAILED|REQUIRED_PASSWORD/.test(error.message)) return false;
      if (!/^clickhouse: \d/.test(error.message)) throw error;
    } finally {
      await warehouse.close();
    }
  }
  return true;
}
