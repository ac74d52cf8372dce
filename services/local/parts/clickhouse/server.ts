// A process of its own: runs the ClickHouse server that is inside libchdb.so until SIGTERM, or until the process
// that started it is gone. `clickhouse local` opens the listeners, then waits in a query that writes to a named
// pipe. Reading the pipe lets the query end, and the listeners close.

import { constants, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ffi from 'ffi-rs';
import { onParentGone } from '../processes.ts';
import { DATABASE } from './users.ts';

export interface ServerArguments {
  library: string;
  folder: string;
  port: number;
  /** On which other servers of a cluster ask this one; null: it is one by itself. */
  tcpPort: number | null;
}

const LIBRARY = 'chdb';
const POLL_MS = 20;
const READY_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 4_000;
/** The reaper ends the services first and then this server. Without a reaper this server ends itself. */
const ORPHAN_GRACE_MS = 12_000;

const server: ServerArguments = JSON.parse(process.argv[2] ?? '{}');
const files = {
  ready: join(server.folder, 'ready'),
  hold: join(server.folder, 'hold'),
  closed: join(server.folder, 'closed'),
};

const { DataType, load, open } = ffi;
const C_LIBRARY = 'libc';

process.on('SIGTERM', () => void close());
process.on('SIGINT', () => undefined);
onParentGone(() => setTimeout(() => void close(), ORPHAN_GRACE_MS));
for (const file of Object.values(files)) rmSync(file, { force: true });
// The C library is loaded already; an empty path stands for the process itself.
open({ library: C_LIBRARY, path: '' });
const O_NOCTTY = 0o400;
const O_RDWR = 2;
// Without --interactive one malformed request ends the server; with it the input must be a terminal.
takeTerminal();
callLibc('mkfifo', files.hold, 0o600);
void runServer();
if (!(await appears(files.ready, READY_TIMEOUT_MS))) exitNow(1);

/** The call runs on another thread, so that this one still gets signals. It returns only if it failed. */
async function runServer(): Promise<never> {
  const words = commandLine();
  ffi.open({ library: LIBRARY, path: server.library });
  await ffi.load({
    library: LIBRARY,
    funcName: 'chdb_query_cmdline',
    // Not declared as a string, because the result may be NULL.
    retType: ffi.DataType.External,
    paramsType: [ffi.DataType.I32, ffi.DataType.StringArray],
    paramsValue: [words.length, words],
    runInNewThread: true,
  });
  return exitNow(1);
}

function commandLine(): string[] {
  return [
    'clickhouse',
    '--interactive',
    '--multiquery',
    `--path=${join(server.folder, 'data')}`,
    `--config-file=${join(server.folder, 'config.xml')}`,
    '--logger.console=0',
    '--log-level=warning',
    '--listen_host=127.0.0.1',
    `--http_port=${server.port}`,
    ...(server.tcpPort === null ? [] : [`--tcp_port=${server.tcpPort}`]),
    '--query',
    [
      `CREATE DATABASE IF NOT EXISTS ${DATABASE}`,
      ...(server.tcpPort === null ? [] : ['SYSTEM START LISTEN TCP']),
      'SYSTEM START LISTEN HTTP',
      `SELECT getServerPort('http_port') INTO OUTFILE '${files.ready}' TRUNCATE FORMAT TSV`,
      // The user without a password may write files; to read one takes a privilege that it lacks.
      `SELECT 1 INTO OUTFILE '${files.hold}' APPEND FORMAT TSV`,
      'SYSTEM STOP LISTEN HTTP',
      `SELECT 1 INTO OUTFILE '${files.closed}' TRUNCATE FORMAT TSV`,
    ].join('; '),
  ];
}

async function close(): Promise<never> {
  openSync(files.hold, constants.O_RDONLY | constants.O_NONBLOCK);
  await appears(files.closed, CLOSE_TIMEOUT_MS);
  return exitNow(0);
}

async function appears(file: string, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!existsSync(file) && performance.now() < deadline) await sleep(POLL_MS);
  return existsSync(file);
}

function takeTerminal(): void {
  const master = callLibc('posix_openpt', O_RDWR);
  callLibc('grantpt', master);
  callLibc('unlockpt', master);
  const index = readFileSync(`/proc/self/fdinfo/${master}`, 'utf8').match(/tty-index:\s*(\d+)/)?.[1];
  if (index === undefined) throw new Error('the terminal has no index');
  const slave = openSync(`/dev/pts/${index}`, O_RDWR | O_NOCTTY);
  callLibc('dup2', slave, 0);
}

/** Exits at once: the library's own clean-up at exit crashes while its threads run. */
function exitNow(code: number): never {
  callLibc('_exit', code);
  throw new Error('_exit returned');
}

function callLibc(name: string, ...values: (number | string)[]): number {
  const result = load({
    library: C_LIBRARY,
    funcName: name,
    retType: DataType.I32,
    paramsType: values.map((value) => (typeof value === 'string' ? DataType.String : DataType.I32)),
    paramsValue: values,
  });
  if (result < 0) throw new Error(`${name} failed`);
  return result;
}
