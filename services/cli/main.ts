import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, environment } from '#infra/config/environment.ts';
import { commandLineConfig } from '#infra/config/local_config.ts';
import { identityOf } from '#infra/config/service_config.ts';
import {
  ControlRefusal,
  ControlUnavailableError,
  createControlClient,
  httpTransport,
} from '#services/control_api/client.ts';
import { oneLine } from '#services/stage/terminal.ts';
import { type Context, UsageError } from './command.ts';
import type { Section } from './doctor/doctor.ts';
import {
  controlAddress,
  localFolder,
  partsEnvironment,
  readDisks,
  readLocalFile,
  readReadyFile,
} from './local_folder.ts';
import type { PasswordChanges } from './password/password_commands.ts';
import { objectIn } from './read.ts';
import { type CliPorts, runCli } from './run_cli.ts';
import type { StatusPorts } from './status/status.ts';

/** Of each read; at most two follow each other, and all ends within ten seconds. */
const ANSWER_MS_MAX = 4_000;
const STDIN = 0;

async function openContext(): Promise<Context> {
  const env = environment();
  return {
    // Made when a command reaches for it: some need no control service.
    get client() {
      const { url, token } = controlAddress(env, readReadyFile(env), (path) => readFileSync(path, 'utf8'));
      return createControlClient(httpTransport(url), token);
    },
    get edge() {
      const { edgeUrl, serverKey } = commandLineConfig(env);
      return { url: edgeUrl, key: serverKey };
    },
    get clickhouse() {
      return commandLineConfig(env).clickhouse;
    },
    get s3() {
      return commandLineConfig(env).s3;
    },
    get identity() {
      return identityOf(env);
    },
    passwords: openPasswords,
    randomBytes,
    nowMs: Date.now(),
    readFile: (path) => readFileSync(path, 'utf8'),
    readStdin: () => readFileSync(STDIN, 'utf8'),
    get partsEnvironment() {
      return partsEnvironment(env, objectIn(readReadyFile(env) ?? ''));
    },
    readLocal: (name) => readLocalFile(env, name),
    watch: { say: (line) => void process.stderr.write(`${line}\n`), sleep },
  };
}

async function fetched(url: string): Promise<{ status: number; body: string } | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return { status: response.status, body: await response.text() };
  } catch {
    // Refused, reset, too slow: for the status they are one thing, no answer.
    return null;
  }
}

function openStatus(): StatusPorts {
  const env = environment();
  const readyText = readReadyFile(env);
  return {
    readReadyFile: () => readyText,
    fetched,
    askControl: controlAsker(env, readyText),
    edgeUrl: commandLineConfig(env).edgeUrl,
    readDisks: () => readDisks(localFolder(env)),
    nowMs: Date.now,
    isTerminal: process.stdout.isTTY === true,
  };
}

/** Null where there is no control service, or nothing lets the command line in. */
function controlAsker(env: Environment, readyText: string | null): StatusPorts['askControl'] {
  let address: ReturnType<typeof controlAddress>;
  try {
    address = controlAddress(env, objectIn(readyText ?? '') === null ? null : readyText, (path) =>
      readFileSync(path, 'utf8'),
    );
  } catch (error) {
    const isUnknown =
      error instanceof UsageError || (error instanceof Error && 'code' in error && error.code === 'ENOENT');
    if (isUnknown) return null;
    throw error;
  }
  const client = createControlClient(httpTransport(address.url, ANSWER_MS_MAX), address.token);
  return async <Item>(path: string, query?: Record<string, string>) => {
    try {
      return { kind: 'item', item: await client.get<Item>(path, query) };
    } catch (error) {
      if (error instanceof ControlUnavailableError) return { kind: 'unavailable', isSilent: error.isSilent };
      if (error instanceof ControlRefusal) return { kind: 'refused', isUnknown: error.status === 401 };
      throw error;
    }
  };
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'failed: unknown error';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'failed';
  return `${code}: ${oneLine(error.message)}`;
}

/** Loaded where it is asked for: the clients of all parts take longer to load than most commands to run. */
async function openDoctor(): Promise<Section[]> {
  const { doctorSections } = await import('./doctor/open_doctor.ts');
  const env = environment();
  const ready = objectIn(readReadyFile(env) ?? '');
  return doctorSections({ env, ready, readDisks: () => readDisks(localFolder(env)), nowMs: Date.now });
}

async function openPasswords(): Promise<PasswordChanges> {
  const { passwordChanges } = await import('./password/change_passwords.ts');
  return passwordChanges({
    env: environment(),
    clock: { elapsedMs: () => performance.now(), sleep },
    nowMs: Date.now,
    async metricsOf(url) {
      const answer = await fetched(url);
      return answer?.status === 200 ? answer.body : null;
    },
    say: (line) => void process.stderr.write(`${line}\n`),
  });
}

const ports: CliPorts = {
  openContext,
  openStatus,
  openDoctor,
};

try {
  const result = await runCli(process.argv.slice(2), ports);
  process.stdout.write(result.stdout);
  process.stderr.write(result.stderr);
  process.exitCode = result.exitCode;
} catch (error) {
  process.stderr.write(`svc: ${explain(error)}\n`);
  process.exitCode = 1;
}
