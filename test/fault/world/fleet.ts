import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FailpointName } from '#infra/failpoint.ts';
import { ensureReaper, registerChild } from '#services/local/parts/processes.ts';
import type { ProcessSpec } from '#services/local/start/supervisor.ts';
import type { ReadyMessage } from '#services/stage/runtime.ts';
import { until } from '#test/harness/until.ts';

/** The service's processes as a nemesis needs them: each can be killed, stalled, armed, started and stopped alone. */
export interface Fleet {
  /** @param root The folder of the sources, where they are of another version. */
  start(specs: readonly ProcessSpec[], root?: string): Promise<void>;
  names(): string[];
  /** Sends a signal; false where the process does not run just now. */
  signal(name: string, signal: NodeJS.Signals): boolean;
  /** Stops a process cleanly and starts it with further variables; resolves when it is ready. */
  restart(name: string, env?: Readonly<Record<string, string>>): Promise<void>;
  /** Starts a process that was stopped, and waits for nothing: it may have to wait for what is broken meanwhile. */
  launch(name: string): void;
  /** Restarts a process so that it dies, or stalls, at a failpoint, once. */
  arm(name: string, failpoint: FailpointName, pass: number, stall?: 'stall'): Promise<void>;
  /** Waits until a process has stopped at its failpoint. */
  stalled(name: string): Promise<void>;
  /** Waits until a process has died so often. */
  died(name: string, times: number): Promise<void>;
  /** Starts a second process of the same kind beside one, or starts it again, of these sources; resolves with its name when ready. */
  replicate(name: string, root?: string): Promise<string>;
  /** Stops a process cleanly and starts it anew from other sources. */
  restartFrom(name: string, root: string): Promise<void>;
  isFrom(name: string, root: string): boolean;
  /** Starts a process anew with these options of Node before its own; an empty list makes it sound again. */
  restartWith(name: string, nodeArgs: readonly string[]): Promise<void>;
  /** The signal, SIGTERM where none is given, and the way it ended; it stays away until it is started again by `restart`. */
  stop(name: string, signal?: 'SIGTERM' | 'SIGKILL'): Promise<Ending>;
  /** How often a process died unasked. */
  deaths(name: string): number;
  isReady(name: string): boolean;
  /** Waits until every process that is not stopped is ready. */
  allReady(timeoutMs?: number): Promise<void>;
  metricsUrl(name: string): string | null;
  /** Ends everything at once: what it did is thrown away. */
  killAll(): Promise<void>;
}

interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  tookMs: number;
}

interface Member {
  spec: ProcessSpec;
  root: string;
  preloads: readonly string[];
  child: ChildProcess | null;
  gone: Promise<void>;
  ready: boolean;
  wanted: boolean;
  deaths: number;
  quickDeaths: number;
  startedMs: number;
  metricsPort: number | null;
  timer: NodeJS.Timeout | null;
}

/** The sources of this version. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** A start may have to rebuild what a row before left in Kafka, on a machine that is busy with many starts. */
const READY_MS = 120_000;
/** Longest until events have brought a process to its failpoint. */
const REACHED_MS = 60_000;
/** A process that has ended so often while it started will not be ready. */
const STARTS_MAX = 8;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2_000;
/** A process that lived this long is started again after the shortest pause. */
const STEADY_MS = 5_000;
const STOP_MS_MAX = 25_000;
const WORDS_MAX = 400;

export function createFleet(logDir: string): Fleet {
  const members = new Map<string, Member>();
  let ending = false;

  function memberOf(name: string): Member {
    const member = members.get(name);
    if (member === undefined) throw new Error(`no process is called ${name}`);
    return member;
  }

  function launch(member: Member, env: Readonly<Record<string, string>> = {}): void {
    member.timer = null;
    const log = openSync(join(logDir, `${member.spec.name}.log`), 'a');
    const words = [
      ...member.preloads,
      ...(member.spec.nodeArgs ?? []),
      join(member.root, member.spec.file),
      ...(member.spec.args ?? []),
    ];
    const child = spawn(process.execPath, words, {
      env: { ...member.spec.env, ...env },
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    });
    closeSync(log);
    if (child.pid !== undefined) registerChild(child.pid, 'service');
    Object.assign(member, { child, ready: false, wanted: true, startedMs: performance.now() });
    child.on('message', (message) => {
      const ready = message as ReadyMessage;
      if (ready.kind !== 'ready' || member.child !== child) return;
      member.ready = true;
      member.metricsPort = ready.metricsPort;
    });
    member.gone = new Promise((resolve) => {
      child.once('exit', () => {
        onExit(member);
        resolve();
      });
    });
  }

  function onExit(member: Member): void {
    Object.assign(member, { child: null, ready: false });
    if (!member.wanted || ending) return;
    member.deaths++;
    member.quickDeaths = performance.now() - member.startedMs > STEADY_MS ? 0 : member.quickDeaths + 1;
    const pauseMs = Math.min(PAUSE_MS * 2 ** member.quickDeaths, PAUSE_MS_MAX);
    member.timer = setTimeout(() => launch(member), pauseMs);
  }

  async function stop(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<Ending> {
    const member = memberOf(name);
    member.wanted = false;
    if (member.timer !== null) clearTimeout(member.timer);
    const { child } = member;
    if (child === null) return { code: null, signal: null, tookMs: 0 };
    const startedMs = performance.now();
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    child.kill('SIGCONT');
    child.kill(signal);
    await member.gone;
    clearTimeout(force);
    return { code: child.exitCode, signal: child.signalCode, tookMs: performance.now() - startedMs };
  }

  async function untilReady(name: string): Promise<void> {
    const member = memberOf(name);
    const before = member.deaths;
    const readyOrDying = (): boolean => member.ready || member.deaths - before >= STARTS_MAX;
    await until(`${name} ready`, readyOrDying, Boolean, { timeoutMs: READY_MS });
    if (!member.ready)
      throw new Error(`${name} ended ${STARTS_MAX} times before it was ready: ${lastWords(logDir, name)}`);
  }

  async function restart(name: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    await stop(name);
    launch(memberOf(name), env);
    await untilReady(name);
  }

  function restartFrom(name: string, root: string): Promise<void> {
    memberOf(name).root = root;
    return restart(name);
  }

  async function start(specs: readonly ProcessSpec[], root = ROOT): Promise<void> {
    ensureReaper();
    for (const spec of specs) {
      const member = newMember(spec, root);
      members.set(spec.name, member);
      launch(member);
    }
    await Promise.all(specs.map(({ name }) => untilReady(name)));
  }

  return {
    start,
    names: () => [...members.keys()],
    signal: (name, signal) => memberOf(name).child?.kill(signal) ?? false,
    restart,
    launch: (name) => launch(memberOf(name)),
    restartWith(name, nodeArgs) {
      memberOf(name).preloads = nodeArgs;
      return restart(name);
    },
    arm: (name, failpoint, pass, stall) => {
      const place = [failpoint, pass, ...(stall === undefined ? [] : [stall])].join(':');
      return restart(name, { FAILPOINT: place, FAILPOINTS_ALLOWED: 'true' });
    },
    async stalled(name) {
      await until(`${name} stalled`, () => isStopped(memberOf(name).child?.pid), Boolean, { timeoutMs: REACHED_MS });
    },
    async died(name, times) {
      const deaths = (): number => memberOf(name).deaths;
      await until(`${name} died ${times} times`, deaths, (seen) => seen >= times, { timeoutMs: REACHED_MS });
    },
    async replicate(name, root = memberOf(name).root) {
      const replica = `${name}.replica`;
      if (!members.has(replica)) await start([{ ...memberOf(name).spec, name: replica }], root);
      else await restartFrom(replica, root);
      return replica;
    },
    restartFrom,
    isFrom: (name, root) => memberOf(name).root === root,
    stop,
    deaths: (name) => memberOf(name).deaths,
    isReady: (name) => memberOf(name).ready,
    async allReady(timeoutMs = READY_MS) {
      const waitedFor = (): string[] =>
        [...members.values()].filter(({ wanted, ready }) => wanted && !ready).map(({ spec }) => spec.name);
      await until('every process ready', waitedFor, (names) => names.length === 0, { timeoutMs });
    },
    metricsUrl(name) {
      const { metricsPort, ready } = memberOf(name);
      return ready && metricsPort !== null ? `http://127.0.0.1:${metricsPort}/metrics` : null;
    },
    async killAll() {
      ending = true;
      for (const { child, timer } of members.values()) {
        if (timer !== null) clearTimeout(timer);
        child?.kill('SIGKILL');
      }
      await Promise.all([...members.values()].map(({ gone }) => gone));
    },
  };
}

/** What a process said last of why it ended. */
function lastWords(logDir: string, name: string): string {
  const lines = readFileSync(join(logDir, `${name}.log`), 'utf8').split('\n');
  const line = lines.findLast((one) => one.includes('"level":60')) ?? lines.at(-2) ?? '';
  return line.slice(0, WORDS_MAX);
}

function newMember(spec: ProcessSpec, root: string): Member {
  return {
    spec,
    root,
    preloads: [],
    child: null,
    gone: Promise.resolve(),
    ready: false,
    wanted: true,
    deaths: 0,
    quickDeaths: 0,
    startedMs: 0,
    metricsPort: null,
    timer: null,
  };
}

/** Whether a process is stopped by a signal: state T in /proc. */
function isStopped(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
