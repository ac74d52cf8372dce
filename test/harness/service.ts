import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ReadyFile } from '#services/local/start/screen.ts';
import { childEnvironment } from './environment.ts';

/** A service that `services/local/start/main.ts` brought up for a test. */
export interface RunningService {
  readonly pid: number;
  readonly dataDir: string;
  readonly ready: ReadyFile;
  /** Everything it printed so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM; resolves with the exit code when the process is gone. */
  stop(): Promise<number | null>;
}

/** How a run of `services/local/start/main.ts` that never became ready ended. */
export interface StartOutcome {
  code: number | null;
  output: string;
}

export interface StartOptions {
  env?: Record<string, string>;
  /** Words behind `npm start --`. */
  words?: readonly string[];
  timeoutMs?: number;
  /** Each line it prints until it is ready. */
  onProgress?: (line: string) => void;
}

const MAIN = fileURLToPath(new URL('../../services/local/start/main.ts', import.meta.url));
/** Room for a first run, which fetches the parts. */
const START_MS = 480_000;
const READY_LINE = 'READY';
const LOG_LINES_SHOWN = 15;

/** Starts the service in a data folder and waits until it is ready. Where it does not become ready, it is ended. */
export async function startService(dataDir: string, options: StartOptions = {}): Promise<RunningService> {
  const started = spawnStart(dataDir, options);
  const { child, gone } = started;
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    return gone;
  };
  const timer = setTimeout(() => child.kill('SIGTERM'), options.timeoutMs ?? START_MS);
  const isReady = await Promise.race([started.saidReady.then(() => true), gone.then(() => false)]);
  clearTimeout(timer);
  if (!isReady) throw new Error(`the service did not become ready\n${started.output()}\n${logTails(dataDir)}`);
  const ready = JSON.parse(readFileSync(join(dataDir, 'ready.json'), 'utf8')) as ReadyFile;
  return { pid: child.pid ?? -1, dataDir, ready, output: started.output, kill: (signal) => child.kill(signal), stop };
}

/** Starts the service where it is expected to refuse, and waits for its end. */
export async function startRefused(dataDir: string, words: readonly string[] = []): Promise<StartOutcome> {
  const started = spawnStart(dataDir, { words });
  return { code: await started.gone, output: started.output() };
}

interface Started {
  child: ChildProcess;
  /** Resolves with the exit code when the process is gone and its output is complete. */
  gone: Promise<number | null>;
  saidReady: Promise<void>;
  output: () => string;
}

function spawnStart(dataDir: string, options: StartOptions): Started {
  const child = spawn(process.execPath, [MAIN, ...(options.words ?? [])], {
    env: childEnvironment({ ...options.env, LOCAL_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal is for the test run, which then stops this in order.
    detached: true,
  });
  const lines: string[] = [];
  let isReady = false;
  const { promise: saidReady, resolve } = Promise.withResolvers<void>();
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      if (isReady) return;
      isReady = line === READY_LINE;
      if (isReady) resolve();
      else options.onProgress?.(line);
    });
  }
  const gone = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
  return { child, gone, saidReady, output: () => lines.join('\n') };
}

/** The last lines of each log of a data folder. */
export function logTails(dataDir: string): string {
  const folder = join(dataDir, 'log');
  return readdirSync(folder)
    .map((name) => {
      const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');
      return `--- ${name}\n${lines.slice(-LOG_LINES_SHOWN).join('\n')}`;
    })
    .join('\n');
}
