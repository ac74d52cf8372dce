// Folders that one process at a time fills.

import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

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
  let release = await acquireLock(partsDir);
  for (; release === null; release = await acquireLock(partsDir)) await sleep(LOCK_POLL_MS);
  try {
    for (const name of readdirSync(partsDir)) {
      if (name.startsWith(DRAFT_PREFIX)) rmSync(join(partsDir, name), { recursive: true, force: true });
    }
    return await work();
  } finally {
    release();
  }
}

/**
 * Takes the lock of a folder, which only stops those who ask for it: a socket in Linux's abstract namespace, which is gone
 * with its process, however that ends. Returns how to release it; null where another process holds it.
 */
export async function acquireLock(folder: string): Promise<(() => void) | null> {
  mkdirSync(folder, { recursive: true });
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(`\0event-ingest-${hash('sha256', realpathSync(folder))}`, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
  server.unref();
  return () => void server.close();
}
