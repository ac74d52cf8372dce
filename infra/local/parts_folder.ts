import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireLock } from './lock.ts';

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
