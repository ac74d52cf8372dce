// SCRAM credentials of the brokers' users. There is one for each mechanism, so that two of them hold an old and a new password.

import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { Kafka } from 'kafkajs';
import { bytesOf, countOf, type Decoder, openCluster, requestOf, textOf } from './client.ts';
import { internal } from './kafkajs_patches/client_patches.ts';

const MECHANISMS = {
  'scram-sha-256': { id: 1, digest: 'sha256', bytes: 32 },
  'scram-sha-512': { id: 2, digest: 'sha512', bytes: 64 },
} as const;

export type ScramMechanism = keyof typeof MECHANISMS;

const NAMES = Object.keys(MECHANISMS) as ScramMechanism[];

export const isScram = (mechanism: string): mechanism is ScramMechanism => mechanism in MECHANISMS;

/** The mechanism that holds the next password of who signs in by this one. */
export const otherMechanism = (mechanism: ScramMechanism): ScramMechanism =>
  mechanism === 'scram-sha-512' ? 'scram-sha-256' : 'scram-sha-512';

/** The fewest that brokers take: passwords are drawn, so that none is found by guessing. */
const ITERATIONS = 4_096;
const SALT_BYTES = 16;
const DESCRIBE = { key: 50, version: 0 };
const ALTER = { key: 51, version: 0 };

/** RESOURCE_NOT_FOUND: no such user, or not by that mechanism. */
const NOT_FOUND = 91;

const errorOf = internal<{ createErrorFromCode(code: number): Error }>('protocol/error.js').createErrorFromCode;

/** By user the mechanisms by which it may sign in; those of these users that there are not are absent. */
export async function scramMechanisms(
  kafka: Kafka,
  users: readonly string[],
): Promise<ReadonlyMap<string, readonly ScramMechanism[]>> {
  const body = Buffer.concat([arrayOf(users.map((user) => Buffer.concat([textOf(user), END]))), END]);
  return ask(kafka, requestOf('DescribeUserScramCredentials', DESCRIBE, body, readMechanisms));
}

/** A password of a user, by the mechanism that is to hold it. */
export interface ScramPassword {
  user: string;
  mechanism: ScramMechanism;
  password: string;
}

/** Sets passwords, which take the place of those of the same mechanisms. They leave this process as salted hashes only. */
export async function setScram(
  kafka: Kafka,
  passwords: readonly ScramPassword[],
  randomBytes: (bytes: number) => Uint8Array,
): Promise<void> {
  const hashed = await Promise.all(
    passwords.map(async ({ user, mechanism, password }) => {
      const { id, digest, bytes } = MECHANISMS[mechanism];
      const salt = Buffer.from(randomBytes(SALT_BYTES));
      const salted = await promisify(pbkdf2)(password, salt, ITERATIONS, bytes, digest);
      const iterations = Buffer.alloc(4);
      iterations.writeInt32BE(ITERATIONS);
      return Buffer.concat([textOf(user), Buffer.of(id), iterations, bytesOf(salt), bytesOf(salted), END]);
    }),
  );
  await alter(kafka, [], hashed);
}

/** Ends passwords by mechanism; one that there is not has ended. Connections that are open go on. */
export async function endScram(kafka: Kafka, ended: readonly Omit<ScramPassword, 'password'>[]): Promise<void> {
  const deletions = ended.map(({ user, mechanism }) =>
    Buffer.concat([textOf(user), Buffer.of(MECHANISMS[mechanism].id), END]),
  );
  await alter(kafka, deletions, []);
}

async function alter(kafka: Kafka, deletions: readonly Buffer[], settings: readonly Buffer[]): Promise<void> {
  const body = Buffer.concat([arrayOf(deletions), arrayOf(settings), END]);
  await ask(kafka, requestOf('AlterUserScramCredentials', ALTER, body, readAltered));
}

type Exchange<T> = ReturnType<typeof requestOf<T>>;

async function ask<T>(kafka: Kafka, exchange: Exchange<T>): Promise<T> {
  const cluster = await openCluster(kafka);
  try {
    await cluster.refreshMetadata();
    const broker = await cluster.findControllerBroker();
    return await broker.connectionPool.send<T>(exchange);
  } finally {
    await cluster.disconnect();
  }
}

/** No tagged fields. */
const END = Buffer.of(0);

const arrayOf = (items: readonly Buffer[]): Buffer => Buffer.concat([countOf(items.length), ...items]);

function readMechanisms(from: Decoder): Map<string, ScramMechanism[]> {
  from.readTaggedFields();
  from.readInt32(); // throttling
  const code = from.readInt16();
  from.readUVarIntString(); // its message
  if (code !== 0) throw errorOf(code);
  const found = Array.from({ length: from.readUVarInt() - 1 }, () => {
    const user = from.readUVarIntString() ?? '';
    const ofUser = from.readInt16();
    from.readUVarIntString();
    const ids = Array.from({ length: from.readUVarInt() - 1 }, () => {
      const id = from.readInt8();
      from.readInt32(); // iterations
      from.readTaggedFields();
      return id;
    });
    from.readTaggedFields();
    if (ofUser !== 0 && ofUser !== NOT_FOUND) throw errorOf(ofUser);
    return [user, NAMES.filter((name) => ids.includes(MECHANISMS[name].id))] as const;
  });
  return new Map(found.filter(([, mechanisms]) => mechanisms.length > 0));
}

function readAltered(from: Decoder): { clientSideThrottleTime: number } {
  from.readTaggedFields();
  // The client looks for it in every answer.
  const clientSideThrottleTime = from.readInt32();
  for (let left = from.readUVarInt() - 1; left > 0; left--) {
    from.readUVarIntString(); // user
    const code = from.readInt16();
    from.readUVarIntString(); // its message
    from.readTaggedFields();
    if (code !== 0 && code !== NOT_FOUND) throw errorOf(code);
  }
  return { clientSideThrottleTime };
}
