import { hash } from 'node:crypto';
import { type ProcessUser, REDIS_COMMANDS, type RedisRights } from '#infra/rights/process_rights.ts';

/** Redis tells reading a key from writing it since 7.0; before that who reads may write as well. */
export interface AclDialect {
  tellsReading: boolean;
}

/** What a user may do, as ACL SETUSER and files of users take it. */
function rulesOf({ keys, keysRead = [], commands }: RedisRights, { tellsReading }: AclDialect): string {
  const patterns = [...keys.map((key) => `~${key}`), ...keysRead.map((key) => `${tellsReading ? '%R~' : '~'}${key}`)];
  const allowed = [...REDIS_COMMANDS, ...commands].sort().map((command) => `+${command}`);
  return [...patterns, 'resetchannels', '-@all', ...allowed].join(' ');
}

const withRedis = (users: readonly ProcessUser[]): [user: string, rights: RedisRights][] =>
  users.flatMap(({ user, rights }) => (rights.redis === null ? [] : [[user, rights.redis]]));

/** The commands by which an administrator of Redis makes the users of the processes. */
export function aclUserCommands(users: readonly ProcessUser[]): string[] {
  return withRedis(users).map(
    ([user, rights]) => `ACL SETUSER ${user} reset on >PASSWORD ${rulesOf(rights, { tellsReading: true })}`,
  );
}

/** A file of users: those of the processes, `owner` who may do everything, and nobody without a password. */
export function aclFile(
  owner: string,
  users: readonly ProcessUser[],
  passwords: Readonly<Record<string, string>>,
  dialect: AclDialect,
): string {
  const digest = (user: string): string => {
    const password = passwords[user];
    if (password === undefined) throw new Error('a user of Redis has no password');
    return `#${hash('sha256', password)}`;
  };
  return [
    'user default off -@all',
    `user ${owner} on ${digest(owner)} ~* &* +@all`,
    ...withRedis(users).map(([user, rights]) => `user ${user} on ${digest(user)} ${rulesOf(rights, dialect)}`),
    '',
  ].join('\n');
}
