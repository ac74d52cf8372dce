// Child processes that must not outlive their owner.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Services are ended before the parts they use. */
type ChildRank = 'service' | 'part';

const SCRIPT = fileURLToPath(new URL('./reaper.sh', import.meta.url));

const lines: string[] = [];
let reaper: ChildProcess | undefined;

/**
 * Hands a child to the reaper, which ends it when this process is gone, even by SIGKILL. Call it right after
 * the spawn. The child should also carry ownerEnvironment() and be spawned detached, so that a Ctrl-C in the
 * terminal reaches only this process, which then stops everything in order.
 */
export function registerChild(pid: number, rank: ChildRank = 'service'): void {
  const start = processStart(pid);
  if (start === undefined) return;
  const line = `${rank} ${pid} ${start}\n`;
  lines.push(line);
  input(ensureReaper()).write(line);
}

/** Starts the reaper before the first child, so that no child is ever without one. */
export function ensureReaper(): ChildProcess {
  reaper ??= startReaper();
  return reaper;
}

function startReaper(): ChildProcess {
  const child = spawn('sh', [SCRIPT, owner()], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  input(child).unref();
  input(child).on('error', () => undefined);
  // Where the reaper was ended: starts another one for the same children.
  child.once('exit', () => {
    reaper = startReaper();
  });
  for (const line of lines) input(child).write(line);
  return child;
}

function input(child: ChildProcess): Socket {
  return child.stdin as Socket;
}

/** Index of `starttime` among the fields of /proc/<pid>/stat that follow the command name (proc(5): field 22). */
const START_FIELD = 19;

/** When a process started, in clock ticks since boot; with its pid that names it for ever. Undefined if it has ended. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[START_FIELD];
  } catch {
    return undefined;
  }
}

/** The name of this process, by pid and start time. */
export function owner(): string {
  return `${process.pid}-${processStart(process.pid) ?? 'unknown'}`;
}

const POLL_MS = 500;

/**
 * Calls back once when the process that started this one is gone, even by SIGKILL (no signal arrives then).
 * Returns a function that stops watching. Does not keep the process alive.
 */
export function onParentGone(callback: () => void, pollMs = POLL_MS): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, pollMs);
  timer.unref();
  return () => clearInterval(timer);
}
