// Passwords of the users of a Redis, of which each may have several at once.

import { hash } from 'node:crypto';
import { withRedisErrors } from './client.ts';
import type { Server } from './connection.ts';

const digestOf = (password: string): string => hash('sha256', password);

/** The digests of the passwords by which a user may sign in; null where there is no such user. */
async function digestsOf(server: Server, user: string): Promise<readonly string[] | null> {
  const answer = (await withRedisErrors(server.acl('GETUSER', user))) as readonly unknown[] | null;
  if (answer === null) return null;
  return answer[answer.indexOf('passwords') + 1] as readonly string[];
}

/** How many passwords each of these users has, the most at any of the servers; those that there are not are absent. */
export async function passwordCounts(
  servers: readonly Server[],
  users: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = users.map(async (user): Promise<[string, number][]> => {
    const all = await Promise.all(servers.map((server) => digestsOf(server, user)));
    return all.includes(null) ? [] : [[user, Math.max(...all.map((digests) => digests?.length ?? 0))]];
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

/** Lets users sign in by these passwords as well. Only digests are sent. */
export async function addPasswords(
  servers: readonly Server[],
  passwords: Readonly<Record<string, string>>,
): Promise<void> {
  // Where that cannot be, nothing is changed.
  for (const server of servers) await saveUsers(server);
  for (const server of servers) {
    for (const [user, password] of Object.entries(passwords))
      await withRedisErrors(server.acl('SETUSER', user, `#${digestOf(password)}`));
    await saveUsers(server);
  }
}

/** Ends every other password of these users. Connections that are open go on. */
export async function keepOnlyPasswords(
  servers: readonly Server[],
  passwords: Readonly<Record<string, string>>,
): Promise<void> {
  for (const server of servers) {
    for (const [user, password] of Object.entries(passwords)) {
      const others = (await digestsOf(server, user))?.filter((digest) => digest !== digestOf(password)) ?? [];
      if (others.length > 0)
        await withRedisErrors(server.acl('SETUSER', user, ...others.map((digest) => `!${digest}`)));
    }
    await saveUsers(server);
  }
}

/** The users are in no file: they are as before when it starts again. */
class RedisUsersNotSavedError extends Error {
  readonly code = 'redis_users_not_saved';
}

/** Has a server keep its users in the file that it read them from. @throws RedisUsersNotSavedError where there is none */
async function saveUsers(server: Server): Promise<void> {
  try {
    await server.acl('SAVE');
  } catch {
    // Without a file of users they may be part of its settings.
    await server.config('REWRITE').catch((cause: unknown) => {
      const why = 'Redis has neither a file of users (aclfile) nor one of settings: a restart would bring back the old';
      throw new RedisUsersNotSavedError(why, { cause });
    });
  }
}
