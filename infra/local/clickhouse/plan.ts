import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentialsOf, SERVICE_USER } from '../credentials.ts';
import { LocalError } from '../errors.ts';
import type { PartPlan } from '../part.ts';
import { renderConfig } from './config.ts';
import type { ServerArguments } from './server.ts';
import { DATABASE, LOCAL_USERS, renderUsers } from './users.ts';

const SERVER = fileURLToPath(new URL('./server.ts', import.meta.url));

/**
 * How long jemalloc keeps memory that an insert or a merge has freed: a minute. With its default of some seconds the next
 * insert faults in every page again: at 20,000 events/s 5,400 page faults a second instead of 500, which are expensive in a
 * virtual machine that returns free memory to its host.
 */
const ALLOCATOR = 'dirty_decay_ms:60000,muzzy_decay_ms:60000';

/**
 * A ClickHouse server from the chdb package, in a Node process of its own.
 *
 * Its address, `http://svc:password@127.0.0.1:port/svc`, works unchanged both for `@clickhouse/client`
 * (option `url`) and for `curl -d 'SELECT 1' "$address"`.
 */
export function planClickhouse(dataDir: string, port: number): PartPlan {
  const folder = join(dataDir, 'clickhouse');
  const password = writeSettings(folder, join(dataDir, 'log', 'clickhouse-server.log'));
  const server: ServerArguments = { library: findLibrary(), folder, port };
  const address = new URL(`http://127.0.0.1:${port}/${DATABASE}`);
  address.username = SERVICE_USER;
  address.password = password;
  return {
    name: 'clickhouse',
    address: address.href,
    logPath: join(dataDir, 'log', 'clickhouse.log'),
    command: process.execPath,
    args: [SERVER, JSON.stringify(server)],
    cwd: folder,
    env: { JE_MALLOC_CONF: ALLOCATOR },
    prepare: () => rmSync(join(folder, 'ready'), { force: true }),
    isReady: () => listens(folder, port),
  };
}

/** Returns the service user's password. */
function writeSettings(folder: string, logPath: string): string {
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(logPath), { recursive: true });
  const passwords = credentialsOf(
    join(folder, 'credentials.json'),
    LOCAL_USERS.map(({ name }) => name),
  );
  writeFileSync(join(folder, 'users.xml'), renderUsers(LOCAL_USERS, passwords), { mode: 0o600 });
  writeFileSync(join(folder, 'config.xml'), renderConfig(folder, logPath));
  return passwords[SERVICE_USER] ?? '';
}

/** The server writes its port to a file once it listens, so whoever answers there is this server. */
async function listens(folder: string, port: number): Promise<boolean> {
  return readFileSync(join(folder, 'ready'), 'utf8').trim() === String(port);
}

/** The build for this platform is a dependency of chdb, so it is resolved from there. */
function findLibrary(): string {
  try {
    const chdb = createRequire(import.meta.url).resolve('chdb/package.json');
    const build = `@chdb/lib-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
    return join(dirname(createRequire(chdb).resolve(`${build}/package.json`)), 'libchdb.so');
  } catch (cause) {
    const hint = 'npm install without --omit=optional, or give the address of a ClickHouse of your own';
    throw new LocalError('local_clickhouse_missing', `chdb has no build here (Linux with glibc, macOS): ${hint}`, {
      cause,
    });
  }
}
