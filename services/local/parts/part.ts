// One local server: its process, log and ports.

import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureReaper, registerChild } from './processes.ts';
import { LocalError, partEnvironment } from './tools.ts';

export type PartName = 'kafka' | 'registry' | 'redis' | 'clickhouse';
/** A broker beside the first one is `kafka.2`. */
export type RunningName = PartName | `kafka.${number}`;

export interface PartPlan {
  name: RunningName;
  address: string;
  logPath: string;
  command: string;
  args: string[];
  cwd: string;
  env?: Record<string, string>;
  /** Called repeatedly after the start until it answers true; if it throws, the part is not ready yet. */
  isReady(): Promise<boolean>;
  /** Work before each start, such as removing the lock files of the last run. */
  prepare?(): void;
  /** How long a graceful end may take before it is forced. */
  stopTimeoutMs?: number;
  /** How long a start may take before it is abandoned; from the third on it is twice as long, as it may be slow rather than hang. */
  readyTimeoutMs?: number;
  /** How many attempts a start has. */
  startsMax?: number;
  /** A folder for the part's own temporary files: emptied before each start, removed when the part has ended. */
  temporaryFolder?: string;
}

type OnPartExit = (name: RunningName, detail: string) => void;

const READY = 'ready';
const READY_POLL_MS = 40;
const READY_TIMEOUT_MS = 90_000;
const STARTS_MAX = 2;
const QUICK_STARTS = 2;
const STOP_TIMEOUT_MS = 8_000;
const LOG_LINES = 20;
/** Deaths that are remembered, and characters of what was said last. */
const DEATHS_MAX = 10;
const SAID_MAX = 300;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 30_000;
/** After this long without a crash the next crash counts as the first. */
const CALM_MS = 60_000;

export class LocalPart {
  readonly #plan: PartPlan;
  readonly #onExit: OnPartExit;
  readonly #onProgress: (line: string) => void;
  readonly #restarts: boolean;
  #child: ChildProcess | undefined;
  #starting: Promise<void> | undefined;
  #hasStarted = false;
  #stopping = false;
  #pauseMs = PAUSE_MS_MIN;
  #diedAtMs = Number.NEGATIVE_INFINITY;
  #restartTimer: NodeJS.Timeout | undefined;
  #diedMs: number[] = [];
  #said: string | null = null;

  /**
   * Starts nothing yet.
   *
   * @param onProgress is told of every start that is attempted again.
   * @param restarts Whether the part starts again by itself after it ended.
   */
  constructor(
    plan: PartPlan,
    onExit: OnPartExit,
    onProgress: (line: string) => void = () => undefined,
    restarts = false,
  ) {
    this.#plan = plan;
    this.#onExit = onExit;
    this.#onProgress = onProgress;
    this.#restarts = restarts;
  }

  get name(): RunningName {
    return this.#plan.name;
  }

  get address(): string {
    return this.#plan.address;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** When it ended unasked, the oldest first, in milliseconds since 1970 UTC, and by what signal, or with what trouble in its log, the last time. */
  get deaths(): { diedMs: readonly number[]; said: string | null } {
    return { diedMs: this.#diedMs, said: this.#said };
  }

  /** Sends a signal to the process, if it runs. If the part ends by it, that counts as unexpected. */
  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Starts the part (again) on the same port and data, and resolves when it is ready. Does nothing if it runs already. */
  start(): Promise<void> {
    if (this.#starting !== undefined) return this.#starting;
    if (this.#child !== undefined) return Promise.resolve();
    this.#stopping = false;
    this.#starting = this.#launch().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends the part gracefully, or by force if that takes too long. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restartTimer);
    const child = this.#child;
    if (child === undefined) return;
    child.ref();
    const gone = exited(child);
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), this.#plan.stopTimeoutMs ?? STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(force);
    removeFolder(this.#plan.temporaryFolder);
  }

  async #launch(): Promise<void> {
    for (let start = 1; ; start++) {
      const { outcome, hung } = await this.#startOnce(start);
      if (outcome === READY) return;
      const startsMax = this.#plan.startsMax ?? STARTS_MAX;
      if (!hung || this.#stopping || start >= startsMax) {
        const { logPath } = this.#plan;
        const why = `${whyOf(this.#plan, outcome)}${start > 1 ? ` (${start} starts)` : ''}`;
        const what = `${this.name} did not start: ${why}. Its log, ${logPath}:`;
        throw new LocalError('local_part_failed', `${what}\n${lastLines(logPath, LOG_LINES)}`);
      }
      this.#onProgress(`${this.name}: ${outcome}; starting it again (${start + 1} of ${startsMax})`);
    }
  }

  async #startOnce(start: number): Promise<{ outcome: string; hung: boolean }> {
    const child = spawnPart(this.#plan, this.#hasStarted);
    this.#hasStarted = true;
    this.#child = child;
    const died = exited(child).then((how) => {
      this.#child = undefined;
      return how;
    });
    const outcome = await Promise.race([died, this.#untilReady(child, start)]);
    const hung = this.#child !== undefined;
    if (outcome !== READY) this.#note(outcome);
    if (outcome === READY) {
      // From here on the part may outlive whatever else this process waits for; during the start it may not: a process
      // with nothing else to wait for would end, with exit status 0, before the start had failed or succeeded.
      child.unref();
      void died.then((how) => this.#report(how));
    } else {
      child.kill('SIGKILL');
      await died;
    }
    return { outcome, hung };
  }

  async #untilReady(child: ChildProcess, start: number): Promise<string> {
    const timeoutMs = (this.#plan.readyTimeoutMs ?? READY_TIMEOUT_MS) * (start > QUICK_STARTS ? 2 : 1);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
      if (await answerBy(this.#plan.isReady(), deadline)) return READY;
      await sleep(READY_POLL_MS);
    }
    return `not ready after ${timeoutMs / 1000} s`;
  }

  #report(how: string): void {
    if (this.#stopping) return;
    this.#note(how);
    this.#onExit(this.name, `${whyOf(this.#plan, how)}\n${lastLines(this.#plan.logPath, LOG_LINES)}`);
    if (this.#restarts) this.#restartLater();
  }

  #note(how: string): void {
    this.#diedMs = [...this.#diedMs, Date.now()].slice(-DEATHS_MAX);
    // Who was killed has not written why; what stands there is of before.
    const said = how.startsWith(KILLED) ? how : lastTrouble(this.#plan.logPath);
    this.#said = said?.slice(0, SAID_MAX) ?? null;
  }

  /** After a pause that doubles while the part keeps ending. */
  #restartLater(): void {
    if (this.#stopping) return;
    const nowMs = performance.now();
    this.#pauseMs = nowMs - this.#diedAtMs > CALM_MS ? PAUSE_MS_MIN : Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    this.#diedAtMs = nowMs;
    const again = () => this.start().then(() => this.#onProgress(`${this.name} was started again`));
    this.#restartTimer = setTimeout(() => {
      again().catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        this.#onProgress(`${this.name} could not be started again: ${why}`);
        this.#restartLater();
      });
    }, this.#pauseMs);
  }
}

/** Whether a question was answered true in time; a part that hangs may hold the connection open without an answer. */
async function answerBy(question: Promise<boolean>, deadlineMs: number): Promise<boolean> {
  const late = new AbortController();
  const timeout = sleep(Math.max(deadlineMs - performance.now(), 0), false, { signal: late.signal }).catch(() => false);
  const answer = await Promise.race([question.catch(() => false), timeout]);
  late.abort();
  return answer;
}

/** Detached, so that a Ctrl-C in the terminal does not reach the part before the processes that use it have stopped. */
function spawnPart(plan: PartPlan, again: boolean): ChildProcess {
  ensureReaper();
  plan.prepare?.();
  removeFolder(plan.temporaryFolder);
  if (plan.temporaryFolder !== undefined) mkdirSync(plan.temporaryFolder, { recursive: true });
  mkdirSync(dirname(plan.logPath), { recursive: true });
  const log = again ? reopenLog(plan.logPath) : openLog(plan.logPath);
  const child = spawn(plan.command, plan.args, {
    cwd: plan.cwd,
    detached: true,
    env: partEnvironment(plan.env),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  if (child.pid !== undefined) registerChild(child.pid, 'part');
  return child;
}

function removeFolder(path: string | undefined): void {
  if (path !== undefined) rmSync(path, { recursive: true, force: true });
}

function exited(child: ChildProcess): Promise<string> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(describe(child));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', () => resolve(describe(child)));
  });
}

const KILLED = 'killed by';

function describe(child: ChildProcess): string {
  return child.signalCode === null ? `ended with code ${child.exitCode}` : `${KILLED} ${child.signalCode}`;
}

/** How a part ended, and by what it says itself why. */
function whyOf({ logPath }: PartPlan, how: string): string {
  const trouble = lastTrouble(logPath);
  return trouble === null ? how : `${how}: ${trouble}`;
}

const TAIL_BYTES_MAX = 65_536;

/** Opens an empty log for a part. The log before it stays beside it; older ones are deleted. */
export function openLog(path: string): number {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return openSync(path, 'a');
}

/** Opens an empty log for a part that is started again: what ended it goes behind the log before, however often it is tried. */
export function reopenLog(path: string): number {
  if (existsSync(path)) appendFileSync(`${path}.1`, readFileSync(path));
  rmSync(path, { force: true });
  return openSync(path, 'a');
}

export function lastLines(path: string, count: number): string {
  return readEnd(path).trimEnd().split('\n').slice(-count).join('\n');
}

/** What a part says when it cannot go on; of Java the line before its stack trace. */
const TROUBLE = /\b(?:ERROR|FATAL)\b|No space left on device|Exception: |Out of memory/;

/** Of several troubles what the others come from. */
const CAUSE = /No space left on device|Out of memory/;

/** The line at the end of a log that tells of the cause, else the last one that tells of trouble; null where none does. */
export function lastTrouble(path: string): string | null {
  const lines = readEnd(path).split('\n');
  return lines.findLast((line) => CAUSE.test(line)) ?? lines.findLast((line) => TROUBLE.test(line)) ?? null;
}

function readEnd(path: string): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const size = fstatSync(file).size;
    const length = Math.min(size, TAIL_BYTES_MAX);
    const buffer = Buffer.alloc(length);
    readSync(file, buffer, 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    closeSync(file);
  }
}

/**
 * Below the range from which Linux takes outgoing ports (32768 on). If a port were inside of it, a client that retries while
 * the part is down could connect to itself and hold the port for good.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES_MAX = 200;

/** Loopback ports by name, the same as at the last start where they are still free, stored in ports.json. */
export async function choosePorts<Name extends string>(
  dataDir: string,
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const path = join(dataDir, 'ports.json');
  const saved = readPorts(path);
  const chosen = { ...saved };
  for (const name of names)
    chosen[name] = await keepOrPick(
      saved[name],
      Object.values(chosen).filter((port) => port !== undefined),
    );
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(chosen, null, 2)}\n`);
  renameSync(`${path}.new`, path);
  return chosen as Record<Name, number>;
}

async function keepOrPick(saved: number | undefined, taken: number[]): Promise<number> {
  if (saved !== undefined && (await isFree(saved))) return saved;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new LocalError('local_no_free_port', `no free port between ${PORT_MIN} and ${PORT_MAX}: end what uses them`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function readPorts(path: string): Partial<Record<string, number>> {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}
