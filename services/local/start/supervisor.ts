import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadyMessage } from '#services/stage/runtime.ts';

/** One process to be kept running. */
export interface ProcessSpec {
  name: string;
  /** Module to run, from the repository's root. */
  file: string;
  args?: readonly string[];
  /** Options of Node itself. */
  nodeArgs?: readonly string[];
  env: Readonly<Record<string, string>>;
}

export interface SupervisorOptions {
  logDir: string;
  /** Called with each child's pid, so that it can be ended if we die without a word. */
  onSpawn(pid: number): void;
  /** A process is ready, for the first time or again. */
  onReady?: () => void;
  /** What happens, for a person. */
  say(line: string): void;
  nowMs(): number;
}

export interface ProcessState {
  name: string;
  pid: number | undefined;
  ready: boolean;
  restarts: number;
  metricsPort: number | undefined;
  facts: Record<string, string | number>;
}

export interface Supervisor {
  /** Starts processes; resolves when each has said that it is ready. */
  start(specs: readonly ProcessSpec[]): Promise<void>;
  states(): ProcessState[];
  /** SIGTERM to all, SIGKILL to what is still there after the grace. */
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 10_000;
/** A process that lived this long starts again without delay. */
const STEADY_MS = 30_000;
const STOP_GRACE_MS = 25_000;

interface Kept {
  spec: ProcessSpec;
  child: ChildProcess | null;
  state: ProcessState;
  failures: number;
  startedMs: number;
  timer: NodeJS.Timeout | null;
  onReady: () => void;
}

/** Keeps processes running: starts again what dies, with growing delays, and says so. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const kept: Kept[] = [];
  let stopping = false;

  function launch(one: Kept): void {
    one.timer = null;
    if (stopping) return;
    const log = openSync(join(options.logDir, `${one.spec.name}.log`), 'a');
    const child = spawn(
      process.execPath,
      [...(one.spec.nodeArgs ?? []), join(ROOT, one.spec.file), ...(one.spec.args ?? [])],
      {
        env: { ...one.spec.env },
        stdio: ['ignore', log, log, 'ipc'],
        detached: true,
      },
    );
    closeSync(log);
    one.child = child;
    one.startedMs = options.nowMs();
    one.state.pid = child.pid;
    if (child.pid !== undefined) options.onSpawn(child.pid);
    child.on('message', (message) => onMessage(one, message as ReadyMessage));
    child.on('error', (error) => options.say(`${one.spec.name} could not be started: ${error.message}`));
    child.on('exit', (code, signal) => onExit(one, code, signal));
  }

  function onMessage(one: Kept, message: ReadyMessage): void {
    if (message.kind !== 'ready') return;
    one.state.ready = true;
    one.state.metricsPort = message.metricsPort ?? undefined;
    one.state.facts = message.facts;
    if (one.state.restarts > 0) options.say(`${one.spec.name} is ready again (pid ${one.state.pid})`);
    one.onReady();
    options.onReady?.();
  }

  function onExit(one: Kept, code: number | null, signal: string | null): void {
    one.child = null;
    one.state.ready = false;
    one.state.pid = undefined;
    if (stopping) return;
    one.failures = options.nowMs() - one.startedMs > STEADY_MS ? 0 : one.failures + 1;
    const delayMs = one.failures === 0 ? 0 : Math.min(BACKOFF_MS * 2 ** (one.failures - 1), BACKOFF_MS_MAX);
    one.state.restarts++;
    options.say(`${one.spec.name} died (${signal ?? `exit code ${code}`}); starting it again in ${delayMs / 1000} s`);
    one.timer = setTimeout(() => launch(one), delayMs);
  }

  function keep(spec: ProcessSpec): Promise<void> {
    return new Promise((resolve) => {
      const state = { name: spec.name, pid: undefined, ready: false, restarts: 0, metricsPort: undefined, facts: {} };
      const one: Kept = { spec, child: null, state, failures: 0, startedMs: 0, timer: null, onReady: resolve };
      kept.push(one);
      launch(one);
    });
  }

  return {
    async start(specs) {
      await Promise.all(specs.map(keep));
    },
    states: () => kept.map(({ state }) => state),
    async stop() {
      stopping = true;
      for (const { timer } of kept) if (timer !== null) clearTimeout(timer);
      await Promise.all(kept.map(({ child }) => end(child)));
    },
  };
}

async function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await gone;
  clearTimeout(timer);
}
