// Folders that one process at a time fills.

import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSameProcess, processStart } from './processes.ts';

const DRAFT_PREFIX = '.draft-';
const LOCK_POLL_MS = 250;

/**
 * A folder inside of the parts folder. It is complete whenever it exists, as it is made under another name and renamed.
 * Returns its path.
 */
export async function ensureFolder(
  partsDir: string,
  name: string,
  make: (draft: string) => Promise<void>,
): Promise<string> {
  const path = join(partsDir, name);
  if (existsSync(path)) return path;
  const draft = join(partsDir, `${DRAFT_PREFIX}${name}`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  await make(draft);
  renameSync(draft, path);
  return path;
}

/** Runs work while no other process installs into the same parts folder, after removing what a killed one left. */
export async function whileLocked<T>(partsDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(partsDir, { recursive: true });
  const release = await waitForLock(partsDir);
  try {
    for (const name of readdirSync(partsDir)) {
      if (name.startsWith(DRAFT_PREFIX)) rmSync(join(partsDir, name), { recursive: true, force: true });
    }
    return await work();
  } finally {
    release();
  }
}

async function waitForLock(partsDir: string): Promise<() => void> {
  for (;;) {
    const lock = acquireLock(partsDir);
    if (lock.ok) return () => lock.release();
    await sleep(LOCK_POLL_MS);
  }
}

const LOCK_FILE = 'lock';

type Lock = { ok: true; release(): void } | { ok: false; pid: number };

/**
 * Takes the single-start lock of a data folder. A lock whose process is gone (or whose pid now names another
 * process) is taken over. The lock is advisory: it only stops those who ask for it.
 */
export function acquireLock(dataDir: string): Lock {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, LOCK_FILE);
  const mine = `${process.pid} ${processStart(process.pid)}\n`;
  for (;;) {
    if (placeLock(path, mine)) return { ok: true, release: () => releaseLock(path, mine) };
    const found = readLock(path);
    if (found === undefined) continue;
    const pid = livePid(found);
    if (pid !== undefined) return { ok: false, pid };
    removeStale(path, found);
  }
}

/** A link appears at once with its whole content, so nobody reads a half-written lock. */
function placeLock(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function livePid(content: string): number | undefined {
  const [pid, start] = content.trim().split(' ');
  return pid !== undefined && start !== undefined && isSameProcess(Number(pid), start) ? Number(pid) : undefined;
}

/** Two starters may both see the stale lock: whoever moved a fresh one away by mistake puts it back. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readLock(aside) !== stale) linkSync(aside, path);
  } catch {
    // Another starter was faster; the next round sees its lock.
  } finally {
    rmSync(aside, { force: true });
  }
}

function releaseLock(path: string, mine: string): void {
  if (readLock(path) === mine) rmSync(path, { force: true });
}
