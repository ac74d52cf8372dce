import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess, processStart } from './proc.ts';

const LOCK_FILE = 'lock';

export type Lock = { ok: true; release(): void } | { ok: false; pid: number };

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
