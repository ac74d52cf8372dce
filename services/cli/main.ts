import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { environment } from '#infra/config/config.ts';
import { openKeyRing } from '#infra/secrets/key_ring_config.ts';
import { sealSecret } from '#infra/secrets/seal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { Context } from './command.ts';
import { DATA_DIRECTORY, readReadyFile } from './local_files.ts';
import { openStore } from './open_store.ts';
import { type CliPorts, oneLine, runCli } from './run.ts';

const HEALTH_TIMEOUT_MS = 3000;
const STDIN = 0;

async function openContext(): Promise<Omit<Context, 'table'>> {
  const ring = await openKeyRing(environment(), DATA_DIRECTORY);
  return {
    nowMs: Date.now(),
    randomBytes,
    changedBy: `cli:${userInfo().username}`,
    adapters: DESTINATIONS,
    seal: (place, value) => sealSecret(ring, place, value, randomBytes),
    readFile: (path) => readFileSync(path, 'utf8'),
    readStdin: () => readFileSync(STDIN, 'utf8'),
  };
}

async function fetchHealth(url: string): Promise<{ status: number; body: string } | null> {
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
  openStore: () => openStore(environment()),
  openContext,
  status: { readReadyFile, fetchHealth },
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
