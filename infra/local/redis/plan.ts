import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { aclFile } from '#infra/redis/acl_users.ts';
import { credentialsOf, credentialsPath, LOCAL_PROCESS_USERS, SERVICE_USER } from '../credentials.ts';
import type { PartPlan } from '../part.ts';
import type { RedisProgram } from './install.ts';

const PING_TIMEOUT_MS = 1_000;
/** The service uses the first one only. */
const DATABASES = 1;

/**
 * Redis on loopback, whose data survives a restart: an append-only file, flushed to disk every second. Its address is that of the
 * user who may do everything; the processes have users of their own.
 */
export function planRedis(dataDir: string, port: number, program: RedisProgram, databases = DATABASES): PartPlan {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true });
  const users = [SERVICE_USER, ...LOCAL_PROCESS_USERS.map(({ user }) => user)];
  const passwords = credentialsOf(credentialsPath(dataDir, 'redis'), users);
  const acl = join(folder, 'users.acl');
  writeFileSync(acl, aclFile(SERVICE_USER, LOCAL_PROCESS_USERS, passwords, program), { mode: 0o600 });
  const password = passwords[SERVICE_USER] ?? '';
  return {
    name: 'redis',
    address: `redis://${SERVICE_USER}:${password}@127.0.0.1:${port}`,
    logPath: join(dataDir, 'log', 'redis.log'),
    command: program.command,
    args: [...settings(port, folder, databases), ['aclfile', acl] as const].flatMap(([name, value]) => [
      `--${name}`,
      value,
    ]),
    cwd: folder,
    env: program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries },
    isReady: () => ping(port, password),
  };
}

function settings(port: number, folder: string, databases: number): [string, string][] {
  return [
    ['bind', '127.0.0.1'],
    ['port', String(port)],
    ['dir', folder],
    ['databases', String(databases)],
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['save', ''],
    ['maxmemory-policy', 'noeviction'],
    ['daemonize', 'no'],
  ];
}

/** While it reads its file back it answers the second of the two with -LOADING. */
function ping(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`AUTH ${SERVICE_USER} ${password}\r\nPING\r\n`));
    let answer = '';
    const settle = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(PING_TIMEOUT_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.on('data', (data) => {
      answer += data.toString();
      if (answer.split('\r\n').length > 2) settle(answer.endsWith('+PONG\r\n'));
    });
  });
}
