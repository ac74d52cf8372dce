// Passwords of the users of a Redis, of which each may have several at once. What a master is told of users its replicas do not learn.

import { hash } from 'node:crypto';
import { infoFields, mastersOf, withRedisErrors } from './client.ts';
import { nodesOf, type Redis, type Server } from './connection.ts';

const digestOf = (password: string): string => hash('sha256', password);

interface User {
  digests: readonly string[];
  /** Signs in by any password. */
  isOpen: boolean;
}

/** The login may not do what it is to do; what the command was given is not quoted. */
class RedisNotPermittedError extends Error {
  readonly code = 'redis_not_permitted';
}

/** What a command answers. @param name What is said of it. @throws RedisNotPermittedError, RedisUnavailableError */
async function permitted<T>(name: string, command: Promise<T>): Promise<T> {
  const isDenied = await command.then(
    () => false,
    (error: Error) => error.message.startsWith('NOPERM'),
  );
  if (isDenied) throw new RedisNotPermittedError(`Redis does not let this login do ${name}: give it the right`);
  return withRedisErrors(command);
}

/** By what a user may sign in; null where there is no such user. */
async function userAt(server: Server, user: string): Promise<User | null> {
  const answer = (await permitted('ACL GETUSER', server.acl('GETUSER', user))) as readonly unknown[] | null;
  if (answer === null) return null;
  const field = (name: string) => answer[answer.indexOf(name) + 1] as readonly string[];
  return { digests: field('passwords'), isOpen: field('flags').includes('nopass') };
}

/** Whom a new password would shut out: the user signs in by any, or by none. */
class RedisUserOpenError extends Error {
  readonly code = 'redis_user_nopass';
}

/** @throws RedisUserOpenError where one of these users has `nopass`, which a first password would end */
export async function refuseOpenUsers(servers: readonly Server[], users: readonly string[]): Promise<void> {
  for (const server of servers)
    for (const user of users)
      if ((await userAt(server, user))?.isOpen === true)
        throw new RedisUserOpenError(`Redis lets ${user} in by any password (nopass): give it one first`);
}

/** How many passwords each of these users has, the most at any of the servers; those that there are not are absent. */
export async function passwordCounts(
  servers: readonly Server[],
  users: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = users.map(async (user): Promise<[string, number][]> => {
    const all = await Promise.all(servers.map((server) => userAt(server, user)));
    return all.includes(null) ? [] : [[user, Math.max(...all.map((one) => one?.digests.length ?? 0))]];
  });
  return new Map((await Promise.all(found)).flat());
}

/** Whether a server lets a user in by a password. @throws RedisUnavailableError */
export async function signsIn(server: Server, user: string, password: string): Promise<boolean> {
  const connection = server.duplicate({ lazyConnect: true });
  try {
    await withRedisErrors(connection.connect());
    return await connection.call('AUTH', user, password).then(
      () => true,
      (error: unknown) => {
        if (/^WRONGPASS|^NOAUTH/.test((error as Error).message)) return false;
        throw error;
      },
    );
  } finally {
    connection.disconnect();
  }
}

/** Changes nothing of users that there are. @throws RedisNotPermittedError where that takes a right which is missing */
export async function refuseUnchangeable(servers: readonly Server[], users: readonly string[]): Promise<void> {
  for (const server of servers) for (const user of users) await permitted('ACL SETUSER', server.acl('SETUSER', user));
}

/** Lets users sign in by these passwords as well, until the servers end: see saveUsers. Only digests are sent. */
export async function addPasswords(
  servers: readonly Server[],
  passwords: Readonly<Record<string, string>>,
): Promise<void> {
  for (const server of servers)
    for (const [user, password] of Object.entries(passwords))
      await permitted('ACL SETUSER', server.acl('SETUSER', user, `#${digestOf(password)}`));
}

/** Ends every other password of these users. Connections that are open go on. */
export async function keepOnlyPasswords(
  servers: readonly Server[],
  passwords: Readonly<Record<string, string>>,
): Promise<void> {
  for (const server of servers) {
    for (const [user, password] of Object.entries(passwords)) {
      const others = (await userAt(server, user))?.digests.filter((digest) => digest !== digestOf(password)) ?? [];
      if (others.length > 0)
        await permitted('ACL SETUSER', server.acl('SETUSER', user, ...others.map((digest) => `!${digest}`)));
    }
  }
}

/** The file of the users does not have them as they are: a restart would bring back what was before. */
class RedisUsersNotSavedError extends Error {
  readonly code = 'redis_users_not_saved';
}

/** What a server answers to ACL SAVE whose users are part of its settings; any other failure is one of its file of users. */
const WITHOUT_FILE = /not configured to use an ACL file/;

/** Has the servers keep their users in the files that they read them from. @throws RedisUsersNotSavedError where one does not */
export async function saveUsers(servers: readonly Server[]): Promise<void> {
  for (const server of servers) {
    const inFile = await server.acl('SAVE').then(
      () => true,
      (cause: Error) => {
        if (WITHOUT_FILE.test(cause.message)) return false;
        throw new RedisUsersNotSavedError('Redis could not write its file of users (ACL SAVE)', { cause });
      },
    );
    if (inFile) continue;
    await server.config('REWRITE').catch((cause: unknown) => {
      const why = 'without a file of users (aclfile) they are in that of its settings, which Redis could not write';
      throw new RedisUsersNotSavedError(`${why} (CONFIG REWRITE)`, { cause });
    });
  }
}

/** A server of which another tells cannot be reached from here, so that it would keep the users that it has. */
class RedisReplicaUntoldError extends Error {
  readonly code = 'redis_replica_untold';
}

interface Servers {
  all: Server[];
  /** Ends the connections that were made to find them. */
  close(): void;
}

/**
 * Every server that is in use: the masters and replicas of a cluster, as it knows them, or else the server, those that copy it and
 * those that copy these, or the master of which it is a copy; with the same login.
 *
 * @throws RedisReplicaUntoldError where one does not let this login in at the address that another has of it
 */
export async function serversOf(redis: Redis): Promise<Servers> {
  const known = [...(await mastersOf(redis)), ...nodesOf(redis, 'slave')];
  if (redis.isCluster) return { all: known, close: () => undefined };
  const made: Server[] = [];
  const close = (): void => {
    for (const server of made) server.disconnect();
  };
  try {
    return { all: await withPeers(known, made), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** @param made What is connected to is put there. */
async function withPeers(known: readonly Server[], made: Server[]): Promise<Server[]> {
  const all = [...known];
  const runs = new Set<string>();
  const asked = new Set<string>();
  for (const server of all) runs.add((await tell(server)).run);
  for (let at = 0; at < all.length; at++) {
    const server = all[at] as Server;
    for (const { host, port } of (await tell(server)).peers) {
      if (asked.has(`${host} ${port}`)) continue;
      asked.add(`${host} ${port}`);
      const peer = server.duplicate({ host, port, sentinels: undefined, lazyConnect: true, retryStrategy: () => null });
      // Said by `connect`, below.
      peer.on('error', () => undefined);
      made.push(peer);
      const { run } = await withRedisErrors(peer.connect())
        .then(() => tell(peer))
        .catch((cause: unknown) => {
          const why =
            'a replica, or the master of one, which has users of its own, and cannot be signed in at from here';
          throw new RedisReplicaUntoldError(`${host}:${port} is ${why}: no password was changed`, { cause });
        });
      // A server may have several addresses.
      if (runs.has(run)) continue;
      runs.add(run);
      all.push(peer);
    }
  }
  return all;
}

interface Told {
  /** Of this run of the server, and no other. */
  run: string;
  peers: { host: string; port: number }[];
}

async function tell(server: Server): Promise<Told> {
  const run = infoFields(await permitted('INFO', server.info('server'))).get('run_id') ?? '';
  return { run, peers: peersIn(infoFields(await permitted('INFO', server.info('replication')))) };
}

/** The addresses of the servers that copy one, and of that which it copies. @param fields Of INFO replication. */
export function peersIn(fields: ReadonlyMap<string, string>): Told['peers'] {
  const replicas = [...fields].flatMap(([name, value]) => {
    const [, host = '', port = ''] = (/^slave\d+$/.test(name) && /^ip=([^,]+),port=(\d+),/.exec(value)) || [];
    return host === '' ? [] : [{ host, port: Number(port) }];
  });
  const [host, port] = [fields.get('master_host'), fields.get('master_port')];
  return host === undefined || port === undefined ? replicas : [...replicas, { host, port: Number(port) }];
}
