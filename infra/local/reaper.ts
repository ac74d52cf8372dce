import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { owner, processStart } from './proc.ts';

/** Services are ended before the parts they use. */
export type ChildRank = 'service' | 'part';

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
  child.once('exit', replaceReaper);
  for (const line of lines) input(child).write(line);
  return child;
}

/** The reaper was ended: starts another one for the same children. */
function replaceReaper(): void {
  reaper = startReaper();
}

function input(child: ChildProcess): Socket {
  return child.stdin as Socket;
}
