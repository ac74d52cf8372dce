import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { owner } from '#services/local/parts/processes.ts';
import { TEMPORARY_FOLDER, useTemporaryFolder } from '#test/harness/environment.ts';
import { type ProcessMark, processesIn, processesWith } from '#test/harness/processes.ts';
import { abandonedFolders } from './abandoned.ts';

/** The folder that holds every temporary file of one run; its name also marks every process the run starts. */
export interface Scratch {
  path: string;
  /** What the run started and still lives, after those that end by themselves had time to. */
  leftBehind(): Promise<ProcessMark[]>;
  /** Ends what is left, at once, and removes the folder. */
  clear(): Promise<void>;
}

const PREFIX = 'event-ingest-test.';
/** The parts' reaper gives each of its two ranks five seconds. */
const LEAVE_MS = 15_000;
const POLL_MS = 100;

/** Makes the run's folder and points TMPDIR at it. What a run that was killed left is removed first. */
export async function makeScratch(): Promise<Scratch> {
  const parent = tmpdir();
  for (const path of abandonedFolders(parent, PREFIX)) await clear(path).catch(leaveMounted);
  const path = mkdtempSync(join(parent, `${PREFIX}${owner()}.`));
  useTemporaryFolder(path);
  return { path, leftBehind: () => leftBehind(path), clear: () => clear(path) };
}

/** What a run that was killed had mounted does not keep the next one from starting. */
function leaveMounted(error: unknown): void {
  if (!String(error).includes('resource busy')) throw error;
}

async function leftBehind(path: string): Promise<ProcessMark[]> {
  const deadline = performance.now() + LEAVE_MS;
  for (;;) {
    const left = othersOf(path);
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(POLL_MS);
  }
}

async function clear(path: string): Promise<void> {
  const deadline = performance.now() + LEAVE_MS;
  // A runner that is in the midst of its work starts others in place of those that are killed.
  while (performance.now() < deadline) {
    const left = othersOf(path);
    if (left.length === 0) break;
    for (const { pid } of left) kill(pid);
    await sleep(POLL_MS);
  }
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** What was started but for the reaper, which ends behind this process. */
const othersOf = (path: string): ProcessMark[] =>
  started(path).filter(({ command }) => !command.includes(`reaper.sh ${owner()}`));

/** By what they inherited, or by where they work: some programs, Redis among them, write over their environment. */
function started(path: string): ProcessMark[] {
  const found = [...processesWith(TEMPORARY_FOLDER, path), ...processesIn(path)];
  return [...new Map(found.map((one) => [one.pid, one])).values()].filter(({ pid }) => pid !== process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
