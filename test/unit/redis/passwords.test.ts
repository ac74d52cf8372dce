import { expect, test } from 'vitest';
import type { Server } from '#infra/redis/connection.ts';
import { passwordCounts, peersIn, refuseOpenUsers, refuseUnchangeable, saveUsers } from '#infra/redis/passwords.ts';

const WITHOUT_FILE = 'ERR This Redis instance is not configured to use an ACL file. You may want to specify users';

/** A server whose answers to ACL SAVE and CONFIG REWRITE are errors, or none. */
const serverOf = (save: string | null, rewrite: string | null): Server =>
  ({
    acl: async () => answer(save),
    config: async () => answer(rewrite),
  }) as unknown as Server;

function answer(error: string | null): string {
  if (error !== null) throw new Error(error);
  return 'OK';
}

test.each([
  ['a file of users', null, 'ERR no config file', true],
  ['one that cannot be written', 'ERR There was an error trying to save the ACLs', null, false],
  ['no right to write it', 'NOPERM this user has no permissions', null, false],
  ['a file of settings', WITHOUT_FILE, null, true],
  ['neither', WITHOUT_FILE, 'ERR The server is running without a config file', false],
])('users of a server with %s', async (_name, save, rewrite, isSaved) => {
  const outcome = await saveUsers([serverOf(save, rewrite)]).then(
    () => 'saved',
    (error: { code: string }) => error.code,
  );
  expect(outcome).toBe(isSaved ? 'saved' : 'redis_users_not_saved');
});

test('a user who signs in by any password is refused by name', async () => {
  const acl = async (_command: string, user: string) => [
    'flags',
    user === 'open' ? ['on', 'nopass'] : ['on'],
    'passwords',
    [],
  ];
  const server = { acl } as unknown as Server;
  await refuseOpenUsers([server], ['closed']);
  await expect(refuseOpenUsers([server], ['closed', 'open'])).rejects.toMatchObject({
    code: 'redis_user_nopass',
    message: expect.stringContaining('open'),
  });
});

test.each([
  ['ACL GETUSER', passwordCounts],
  ['ACL SETUSER', refuseUnchangeable],
])('a login that may not do %s is told so, without what it was given', async (command, ask) => {
  const acl = async () => {
    throw new Error("NOPERM User svc has no permissions to run the 'acl' command on svc_edge");
  };
  await expect(ask([{ acl } as unknown as Server], ['svc_edge'])).rejects.toMatchObject({
    code: 'redis_not_permitted',
    message: expect.stringMatching(new RegExp(`^(?!.*svc_edge).*${command}`)),
  });
});

test('the servers that copy one, and that which it copies, are read of what it tells', () => {
  const fields = new Map([
    ['role', 'slave'],
    ['master_host', 'first'],
    ['master_port', '6379'],
    ['slave0', 'ip=10.0.0.2,port=6380,state=online,offset=1,lag=0'],
    ['slave_read_only', '1'],
  ]);
  expect(peersIn(fields)).toEqual([
    { host: '10.0.0.2', port: 6380 },
    { host: 'first', port: 6379 },
  ]);
  expect(peersIn(new Map([['role', 'master']]))).toEqual([]);
});
