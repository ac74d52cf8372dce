import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '#infra/config/environment.ts';
import { commandLineConfig } from '#infra/config/local_config.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { oneLine } from '#services/stage/terminal.ts';
import type { Context } from './command.ts';
import { controlAddress, readLocalFile, readReadyFile } from './control_address.ts';
import { type CliPorts, runCli } from './run_cli.ts';

const HEALTH_TIMEOUT_MS = 3000;
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
    nowMs: Date.now(),
    readFile: (path) => readFileSync(path, 'utf8'),
    readStdin: () => readFileSync(STDIN, 'utf8'),
    readLocal: (name) => readLocalFile(env, name),
    watch: { say: (line) => void process.stderr.write(`${line}\n`), sleep },
  };
}

async function fetched(url: string): Promise<{ status: number; body: string } | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) });
    return { status: response.status, body: await response.text() };
  } catch {
    // Refused, reset, too slow: for the status they are one thing, no answer.
    return null;
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'failed: unknown error';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'failed';
  return `${code}: ${oneLine(error.message)}`;
}

const ports: CliPorts = {
  openContext,
  status: {
    readReadyFile: () => readReadyFile(environment()),
    fetched,
    readStages: async () =>
      commandLineConfig(environment()).controlUrl === null ? null : (await openContext()).client.get('/stages'),
    isTerminal: process.stdout.isTTY === true,
  },
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
