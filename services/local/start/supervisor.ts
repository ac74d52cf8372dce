import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, copyFileSync, openSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { ReadyMessage } from '#services/stage/runtime.ts';

export interface ProcessSpec {
  name: string;
  /** Module to run, from the repository's root. */
  file: string;
  args?: readonly string[];
  /** Options of Node itself. */
  nodeArgs?: readonly string[];
  env: Variables;
}

type Variables = Readonly<Record<string, string>>;

/** Its variables are read at each start: passwords change. */
export type SupervisedSpec = Omit<ProcessSpec, 'env'> & { env(): Variables };

export interface SupervisorOptions {
  logDir: string;
  /** Called with each child's pid, so that it can be ended if we die without a word. */
  onSpawn(pid: number): void;
  /** A process is ready, for the first time or again, has died, or answers no more. */
  onChange?: () => void;
  /** What happens, for a person. */
  say(line: string): void;
  nowMs(): number;
  /** Asks a process that is ready whether it lives; resolves to false where there is no answer in time. */
  isAlive(metricsPort: number): Promise<boolean>;
  /** Before each time that it is asked, in milliseconds. */
  askEveryMs?: number;
}

export interface ProcessState {
  name: string;
  pid: number | undefined;
  ready: boolean;
  restarts: number;
  /** When it died last, the oldest first, in milliseconds since 1970 UTC. */
  diedMs: readonly number[];
  metricsPort: number | undefined;
  /** When it died or answered last, in milliseconds since 1970 UTC, where it is not back, or did not answer the last time. */
  silentSinceMs: number | null;
  facts: Record<string, string | number>;
}

export type Supervisor = ReturnType<typeof createSupervisor>;

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 10_000;
/** A process that lived this long starts again without delay. */
const STEADY_MS = 30_000;
/** Deaths that are remembered of a process. */
const DEATHS_MAX = 10;
const STOP_GRACE_MS = 25_000;
const ASK_EVERY_MS = 5_000;
/** Answers in a row that did not come, after which a process counts as hung: with five seconds for each, a minute. */
const SILENCES_MAX = 6;

interface Kept {
  spec: SupervisedSpec;
  /** What it was started with last. */
  env: Variables;
  /** Called once it has ended, where it is ended to be started anew. */
  onEnded: (() => void) | null;
  child: ChildProcess | null;
  state: ProcessState;
  failures: number;
  timer: NodeJS.Timeout | undefined;
  stopAsking: () => void;
}

/** Keeps processes running: starts again what dies, with growing delays, kills what hangs, and says so. */
export function createSupervisor(options: SupervisorOptions) {
  const { logDir, onSpawn, onChange, say, nowMs, isAlive, askEveryMs = ASK_EVERY_MS } = options;
  const kept: Kept[] = [];
  let stopping = false;

  function launch(one: Kept, onFirstReady: () => void): void {
    if (stopping) return;
    const { spec, state } = one;
    const { name, nodeArgs = [], file, args = [] } = spec;
    one.env = spec.env();
    const log = openSync(join(logDir, `${name}.log`), 'a');
    const stdio = ['ignore' as const, log, log, 'ipc' as const];
    const command = [...nodeArgs, join(ROOT, file), ...args];
    const child = spawn(process.execPath, command, { env: { ...one.env }, stdio, detached: true });
    closeSync(log);
    const startedMs = nowMs();
    one.child = child;
    state.pid = child.pid;
    if (child.pid !== undefined) onSpawn(child.pid);
    child.on('error', (error) => say(`${name} could not be started: ${error.message}`));
    child.on('message', ({ kind, metricsPort, facts }: ReadyMessage) => {
      if (kind !== 'ready') return;
      Object.assign(state, { ready: true, metricsPort: metricsPort ?? undefined, silentSinceMs: null, facts });
      if (state.restarts > 0) say(`${name} is ready again (pid ${state.pid})`);
      watch(one, child);
      onFirstReady();
      onChange?.();
    });
    child.on('exit', (code, signal) => {
      one.stopAsking();
      one.child = null;
      Object.assign(state, { ready: false, pid: undefined, silentSinceMs: state.silentSinceMs ?? nowMs() });
      if (stopping) return;
      if (one.onEnded !== null) {
        one.onEnded();
        return;
      }
      one.failures = nowMs() - startedMs > STEADY_MS ? 0 : one.failures + 1;
      const delayMs = one.failures === 0 ? 0 : Math.min(BACKOFF_MS * 2 ** (one.failures - 1), BACKOFF_MS_MAX);
      state.restarts++;
      state.diedMs = [...state.diedMs, nowMs()].slice(-DEATHS_MAX);
      onChange?.();
      say(`${name} died (${signal ?? `exit code ${code}`}); starting it again in ${delayMs / 1000} s`);
      one.timer = setTimeout(() => launch(one, onFirstReady), delayMs);
    });
  }

  /**
   * Kills a process that has stopped answering: one whose event loop stands, or that was stopped by a signal, neither ends nor
   * does its work. Answers that are missed count, and not the clock: this machine may have been asleep.
   */
  function watch(one: Kept, child: ChildProcess): void {
    const { name, metricsPort } = one.state;
    if (metricsPort === undefined) return;
    let silences = 0;
    let answeredMs = nowMs();
    const ask = async (): Promise<void> => {
      const answers = await isAlive(metricsPort);
      silences = answers ? 0 : silences + 1;
      if (answers) answeredMs = nowMs();
      const silentSinceMs = answers ? null : answeredMs;
      if (one.child === child && one.state.silentSinceMs !== silentSinceMs) {
        one.state.silentSinceMs = silentSinceMs;
        onChange?.();
      }
      if (silences < SILENCES_MAX || one.child !== child || stopping) return;
      say(`${name} hangs: no answer ${silences} times in a row; ending it`);
      child.kill('SIGKILL');
    };
    one.stopAsking();
    one.stopAsking = repeat(
      ask,
      () => askEveryMs,
      (error) => say(`${name} could not be asked: ${String(error)}`),
    );
  }

  /** Ends a process that is ready and starts it; resolves when it is ready again. That is no death. */
  async function renew(one: Kept, child: ChildProcess): Promise<void> {
    await new Promise<void>((resolve) => {
      one.onEnded = () => resolve();
      void end(child);
    });
    one.onEnded = null;
    await new Promise<void>((resolve) => launch(one, resolve));
  }

  function keep(spec: SupervisedSpec): Promise<void> {
    const { name } = spec;
    const state = { name, pid: undefined, ready: false, restarts: 0, diedMs: [], metricsPort: undefined };
    const one: Kept = {
      ...{ spec, env: {}, child: null, state: { ...state, silentSinceMs: null, facts: {} }, failures: 0 },
      ...{ timer: undefined, stopAsking: () => undefined, onEnded: null },
    };
    kept.push(one);
    return new Promise((resolve) => launch(one, resolve));
  }

  return {
    /** Starts processes; resolves when each has said that it is ready. */
    async start(specs: readonly SupervisedSpec[]): Promise<void> {
      await Promise.all(specs.map(keep));
    },
    /** Starts those anew, each when the one before is ready, whose variables have changed since they were started. */
    async renewChanged(): Promise<void> {
      for (const one of kept) {
        const { child, spec } = one;
        if (child !== null && !isDeepStrictEqual(one.env, spec.env())) await renew(one, child);
      }
    },
    states: (): ProcessState[] => kept.map(({ state }) => state),
    /** SIGTERM to all, SIGKILL to what is still there after the grace. */
    async stop(): Promise<void> {
      stopping = true;
      for (const { timer, stopAsking } of kept) {
        clearTimeout(timer);
        stopAsking();
      }
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

/** Of one log; with the one before it twice as much. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Moves the lines of each log that has become too large to a second file beside it, in place of those that were there. What
 * writes it goes on, as it only appends; a line that is written in this very moment may be lost.
 */
export function rotateLogs(folder: string, bytesMax = LOG_BYTES_MAX): void {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.log'))) {
    const path = join(folder, name);
    if (statSync(path).size <= bytesMax) continue;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  }
}
