import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { PartPlan } from '../part.ts';
import type { RedisProgram } from './install.ts';

const PING_TIMEOUT_MS = 1_000;
/** The service uses the first one only. */
const DATABASES = 1;

/** Redis on loopback, whose data survives a restart: an append-only file, flushed to disk every second. */
export function planRedis(dataDir: string, port: number, program: RedisProgram, databases = DATABASES): PartPlan {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true });
  return {
    name: 'redis',
    address: `redis://127.0.0.1:${port}`,
    logPath: join(dataDir, 'log', 'redis.log'),
    command: program.command,
    args: settings(port, folder, databases).flatMap(([name, value]) => [`--${name}`, value]),
    cwd: folder,
    env: program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries },
    isReady: () => ping(port),
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

/** While it reads its file back it answers -LOADING. */
function ping(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const settle = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(PING_TIMEOUT_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('data', (data) => settle(data.toString().startsWith('+PONG')));
  });
}
