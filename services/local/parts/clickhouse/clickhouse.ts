import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ANALYST_SITE,
  ANALYST_TABLES,
  analystName,
  analystViews,
  SQL_API_USER,
  SQL_VIEWS,
  sqlViews,
} from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import type { PartPlan } from '../part.ts';
import { LocalError } from '../tools.ts';
import type { ServerArguments } from './server.ts';
import { asUser, credentialsOf, DATABASE, LOCAL_USERS, type Passwords, renderUsers, SERVICE_USER } from './users.ts';

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
export function planClickhouse(dataDir: string, port: number, shard: LocalShard | null = null): PartPlan {
  const folder = join(dataDir, 'clickhouse');
  const password = writeSettings(folder, join(dataDir, 'log', 'clickhouse-server.log'), shard);
  const server: ServerArguments = { library: findLibrary(), folder, port, tcpPort: shard?.tcpPort ?? null };
  return {
    name: 'clickhouse',
    address: asUser(`http://127.0.0.1:${port}/${DATABASE}`, SERVICE_USER, password),
    logPath: join(dataDir, 'log', 'clickhouse.log'),
    command: process.execPath,
    args: [SERVER, JSON.stringify(server)],
    cwd: folder,
    env: { JE_MALLOC_CONF: ALLOCATOR },
    prepare: () => rmSync(join(folder, 'ready'), { force: true }),
    isReady: () => listens(folder, port),
  };
}

/** What makes a server one of several shards. */
export interface LocalShard {
  /** By which the others ask it. */
  tcpPort: number;
  /** Those of all of them, in the order of the shards. */
  tcpPorts: readonly number[];
  /** By it a server knows the others, and lets them ask as the user whom they answer. */
  secret: string;
}

/** What the cluster of local shards is called. */
export const LOCAL_SHARDS = 'local_shards';

/** Returns the service user's password. */
function writeSettings(folder: string, logPath: string, shard: LocalShard | null): string {
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(logPath), { recursive: true });
  writeFileSync(join(folder, 'config.xml'), renderConfig(folder, logPath, shard));
  return writeUsers(folder)[SERVICE_USER] ?? '';
}

/**
 * Writes the users, whom the server reads when it starts. Returns their passwords.
 *
 * @param beside Passwords that let users in as well.
 */
export function writeUsers(folder: string, beside: Passwords = {}): Passwords {
  const passwords = credentialsOf(
    join(folder, 'credentials.json'),
    LOCAL_USERS.map(({ name }) => name),
  );
  writeFileSync(join(folder, 'users.xml'), renderUsers(LOCAL_USERS, passwords, beside), { mode: 0o600 });
  return passwords;
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

/**
 * Merges run at a lower priority than inserts and queries. If the kernel shares the cores by session (autogroups, Debian's
 * default), an insert gets only what the server's other threads leave. Not much lower: at 10, beside other programs that kept
 * both cores busy for an hour, nothing was merged at all, and at 3,000 parts the table takes no more inserts.
 */
const MERGES_NICE = 4;

/**
 * config.xml of the local ClickHouse. The client takes the path of its URL as the name of the database, while curl posts to that
 * path: with a handler on that path one URL works for both.
 */
function renderConfig(folder: string, logPath: string, shard: LocalShard | null): string {
  return `<clickhouse>
<logger><level>warning</level><console>0</console><log>${logPath}</log><size>10M</size><count>1</count></logger>
<keep_alive_timeout>3</keep_alive_timeout>
<os_threads_nice_value_merge_mutate>${MERGES_NICE}</os_threads_nice_value_merge_mutate>
<background_pool_size>8</background_pool_size>
<background_schedule_pool_size>16</background_schedule_pool_size>
<listen_host>127.0.0.1</listen_host>
<backups><allowed_path>${folder}/backups/</allowed_path></backups>
<user_directories><users_xml><path>${folder}/users.xml</path></users_xml></user_directories>
<http_handlers>
<rule><url>/${DATABASE}</url><handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler></rule>
<defaults/>
</http_handlers>
${shard === null ? '' : renderShards(shard)}</clickhouse>
`;
}

function renderShards({ tcpPort, tcpPorts, secret }: LocalShard): string {
  const shards = tcpPorts.map((port) => `<shard><replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`);
  return `<tcp_port>${tcpPort}</tcp_port>
<remote_servers><${LOCAL_SHARDS}><secret>${secret}</secret>${shards.join('')}</${LOCAL_SHARDS}></remote_servers>
`;
}

/** The address of the local ClickHouse as the user that the control service asks SQL as. */
export function localSqlUrl(dataDir: string, clickhouseUrl: string): string {
  const passwords = JSON.parse(readFileSync(join(dataDir, 'clickhouse', 'credentials.json'), 'utf8'));
  return asUser(new URL(`/${SQL_VIEWS}`, clickhouseUrl).href, SQL_API_USER, passwords[SQL_API_USER]);
}

/** Makes the views of the local analyst and of SQL anew, with the comments that the tables' columns have by now. */
export async function makeLocalAnalyst(clickhouseUrl: string): Promise<void> {
  const warehouse = createWarehouse(clickhouseUrl);
  try {
    for (const query of [...analystViews(ANALYST_SITE, DATABASE), ...sqlViews(DATABASE)]) {
      await warehouse.command({ query });
    }
    for (const views of [analystName(ANALYST_SITE), SQL_VIEWS]) {
      for (const query of await comments(warehouse, views)) await warehouse.command({ query });
    }
  } finally {
    await warehouse.close();
  }
}

async function comments(warehouse: Warehouse, views: string): Promise<string[]> {
  // Of event_rows the views show as event_id what sent_id is.
  const query = `SELECT table, if(name = 'sent_id', 'event_id', name) AS name, replaceAll(replaceAll(comment, '\\\\', '\\\\\\\\'), '''', '\\\\''') AS text FROM system.columns
    WHERE database = {database:String} AND table IN {tables:Array(String)} AND comment != ''
      AND (default_kind = '' OR columns.name = 'sent_id') AND name IN (SELECT name FROM system.columns WHERE database = {views:String})
    ORDER BY columns.name DESC LIMIT 1 BY table, name`;
  const query_params = { database: DATABASE, tables: [...ANALYST_TABLES], views };
  const asked = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
  const byTable = Map.groupBy(await asked.json<{ table: string; name: string; text: string }>(), ({ table }) => table);
  return [...byTable].map(([table, columns]) => {
    const changes = columns.map(({ name, text }) => `COMMENT COLUMN ${name} '${text}'`);
    return `ALTER TABLE \`${views}\`.${table} ${changes.join(', ')}`;
  });
}
