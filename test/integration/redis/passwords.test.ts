import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Server } from '#infra/redis/connection.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { asLogin, loginDigest } from '#infra/rights/logins.ts';
import { passwordChanges } from '#services/cli/password/change_passwords.ts';
import { redisKeeper } from '#services/stage/passwords.ts';
import { quiet } from '#test/harness/kafka.ts';
import { startOwnParts, useOwnParts } from '#test/harness/own_parts.ts';
import { discard } from '#test/harness/parts.ts';
import { until } from '#test/harness/until.ts';

const parts = useOwnParts('redis');
const USERS = ['edge', 'dedup', 'quota'];

let folder: string;
let admin: Server;
/** The file that the server has its users in. */
let aclFile: string;
let metrics: Record<string, string>;

const ownUrl = (): string => parts().addresses.redisUrl;
const urlOf = (name: string): string => parseEnv(readFileSync(join(folder, `${name}.env`), 'utf8'))['REDIS_URL'] ?? '';
const passwordOf = (name: string): string => new URL(urlOf(name)).password;
const ports = () => ({
  env: { REDIS_URL: ownUrl() },
  clock: { elapsedMs: () => 0, sleep: async () => undefined },
  nowMs: Date.now,
  metricsOf: async (url: string) => metrics[url] ?? null,
  say: () => undefined,
});
const changes = () => passwordChanges(ports());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'redis-passwords-'));
  admin = createRedis(ownUrl(), quiet) as Server;
  aclFile = ((await admin.config('GET', 'aclfile')) as string[])[1] ?? '';
  for (const name of USERS) {
    await admin.acl('SETUSER', `svc_${name}`, 'resetpass', `>first_${name}`);
    const url = asLogin(ownUrl(), `svc_${name}`, `first_${name}`);
    writeFileSync(join(folder, `${name}.env`), `export REDIS_URL=${url}\n`);
  }
  metrics = {};
});
afterEach(() => {
  admin.disconnect();
  rmSync(folder, { recursive: true });
});

/** Which of the first passwords still let in. */
async function firstLeft(): Promise<string[]> {
  const keeper = await redisKeeper({ redisUrl: ownUrl(), redisCluster: false });
  const left = await Promise.all(USERS.map((name) => keeper.signsIn(`svc_${name}`, `first_${name}`)));
  await keeper.close();
  return USERS.filter((_name, at) => left[at]);
}
const saysLogin = (...names: string[]): string =>
  names
    .map((name) => {
      const digest = loginDigest('redis', `svc_${name}`, passwordOf(name));
      return `svc_login{part="redis",user="svc_${name}",digest="${digest}"} 1\n`;
    })
    .join('');

test('old passwords end of those alone of whom processes were asked', async () => {
  await changes().rotateIn('redis', folder);
  expect(await firstLeft()).toEqual(USERS);
  metrics = { a: saysLogin('edge'), b: saysLogin('dedup') };
  const finished = await changes().finishIn('redis', folder, ['a', 'b']);
  expect(finished.kept).toEqual(['svc_quota']);
  expect(finished.says.join('\n')).toContain('2 users of redis');
  expect(await firstLeft()).toEqual(['quota']);
  await expect(changes().rotateIn('redis', folder)).rejects.toMatchObject({ code: 'rotation_unfinished' });
  expect((await changes().finishIn('redis', folder, null)).kept).toEqual([]);
  expect(await firstLeft()).toEqual([]);
});

test('users whom Redis cannot store are no success, also not the second time, and are stored the third', async () => {
  const before = readFileSync(aclFile, 'utf8');
  const texts = USERS.map(urlOf);
  renameSync(aclFile, `${aclFile}.away`);
  // A file does not take the place of a folder.
  mkdirSync(join(aclFile, 'in_the_way'), { recursive: true });
  const plan = join(folder, 'redis.rotation.json');
  const passwords = Object.fromEntries(USERS.map((name) => [`svc_${name}`, `new_${name}`]));
  for (const isBegun of [false, true]) {
    // What is refused leaves no plan; one of before stays.
    if (isBegun) writeFileSync(plan, JSON.stringify({ passwords, mechanism: null }));
    await expect(changes().rotateIn('redis', folder)).rejects.toMatchObject({ code: 'redis_users_not_saved' });
    expect(USERS.map(urlOf)).toEqual(texts);
    expect(readdirSync(folder)).toEqual([
      'dedup.env',
      'edge.env',
      'quota.env',
      ...(isBegun ? ['redis.rotation.json'] : []),
    ]);
  }
  // The same where it fails between: what was added by then is there, and is not stored.
  for (const [user, password] of Object.entries(passwords)) await admin.acl('SETUSER', user, `>${password}`);
  await expect(changes().rotateIn('redis', folder)).rejects.toMatchObject({ code: 'redis_users_not_saved' });
  rmdirSync(join(aclFile, 'in_the_way'));
  rmdirSync(aclFile);
  renameSync(`${aclFile}.away`, aclFile);
  await changes().rotateIn('redis', folder);
  expect(USERS.map(passwordOf)).toEqual(USERS.map((name) => passwords[`svc_${name}`]));
  expect(readFileSync(aclFile, 'utf8')).not.toBe(before);
  await admin.acl('LOAD');
  metrics = { a: saysLogin(...USERS) };
  expect((await changes().finishIn('redis', folder, ['a'])).kept).toEqual([]);
  expect(await firstLeft()).toEqual([]);
  expect(readdirSync(dirname(aclFile)).filter((name) => name.includes('.away'))).toEqual([]);
});

test('a login without the right to change users is told so, and leaves no plan', async () => {
  await admin.acl('SETUSER', 'reader', 'on', '>its', '~*', '+@all', '-acl|setuser');
  const asReader = passwordChanges({ ...ports(), env: { REDIS_URL: asLogin(ownUrl(), 'reader', 'its') } });
  await expect(asReader.rotateIn('redis', folder)).rejects.toMatchObject({ code: 'redis_not_permitted' });
  expect(readdirSync(folder)).toEqual(['dedup.env', 'edge.env', 'quota.env']);
});

test.each(['rotate', 'finish'])('%s refuses a user who signs in by any password, and leaves it so', async (verb) => {
  await admin.acl('SETUSER', 'svc_dedup', 'nopass');
  const asked = verb === 'rotate' ? changes().rotateIn('redis', folder) : changes().finishIn('redis', folder, null);
  await expect(asked).rejects.toMatchObject({
    code: 'redis_user_nopass',
    message: expect.stringContaining('svc_dedup'),
  });
  expect(await admin.acl('GETUSER', 'svc_dedup')).toContainEqual(expect.arrayContaining(['nopass']));
  expect(readdirSync(folder)).toEqual(['dedup.env', 'edge.env', 'quota.env']);
});

test('a file with another password than the server has is refused before anything changes', async () => {
  await admin.acl('SETUSER', 'svc_quota', 'resetpass', '>by_hand');
  await expect(changes().rotateIn('redis', folder)).rejects.toMatchObject({ code: 'password_refused' });
  expect(readdirSync(folder)).toEqual(['dedup.env', 'edge.env', 'quota.env']);
  const keeper = await redisKeeper({ redisUrl: ownUrl(), redisCluster: false });
  expect(await keeper.counts(['svc_edge', 'svc_quota'])).toEqual(
    new Map([
      ['svc_edge', 1],
      ['svc_quota', 1],
    ]),
  );
  await keeper.close();
});

test('a replica outside a cluster is told too, and one that cannot be reached is refused before anything changes', {
  timeout: 240_000,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'replica-'));
  mkdirSync(join(dataDir, 'redis'));
  cpSync(join(dirname(aclFile), 'credentials.json'), join(dataDir, 'redis', 'credentials.json'));
  const copying = await startOwnParts(dataDir, ['redis']);
  const { username, password, port } = new URL(ownUrl());
  const replica = createRedis(copying.addresses.redisUrl, quiet) as Server;
  try {
    await replica.config('SET', 'masteruser', username);
    await replica.config('SET', 'masterauth', password);
    for (const name of USERS) await replica.acl('SETUSER', `svc_${name}`, 'resetpass', `>first_${name}`);
    await replica.replicaof('127.0.0.1', Number(port));
    await until('it copies', async () => (await admin.info('replication')).includes('state=online'));
    const digestsAt = async (server: Server): Promise<unknown> =>
      Promise.all(USERS.map(async (name) => ((await server.acl('GETUSER', `svc_${name}`)) as unknown[])[3]));
    const before = await digestsAt(replica);
    await changes().rotateIn('redis', folder);
    expect(await digestsAt(replica)).not.toEqual(before);
    expect(await digestsAt(replica)).toEqual(await digestsAt(admin));
    // Also by the address of the replica the master is told.
    const atReplica = await redisKeeper({ redisUrl: copying.addresses.redisUrl, redisCluster: false });
    await atReplica.keepOnly(Object.fromEntries(USERS.map((name) => [`svc_${name}`, passwordOf(name)])));
    await atReplica.close();
    expect(await firstLeft()).toEqual([]);
    await replica.config('SET', 'replica-announce-port', '1');
    await replica.replicaof('NO', 'ONE');
    await replica.replicaof('127.0.0.1', Number(port));
    await until('it copies by another address', async () =>
      (await admin.info('replication')).includes('port=1,state=online'),
    );
    const texts = USERS.map(urlOf);
    await expect(changes().rotateIn('redis', folder)).rejects.toMatchObject({ code: 'redis_replica_untold' });
    expect(USERS.map(urlOf)).toEqual(texts);
    expect(readdirSync(folder)).toEqual(['dedup.env', 'edge.env', 'quota.env']);
  } finally {
    replica.disconnect();
    await discard(copying);
    rmSync(dataDir, { recursive: true, maxRetries: 5 });
  }
});
