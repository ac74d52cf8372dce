import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KEY_BYTES, type KeyRing, parseKeyRing } from './key_ring.ts';

const FILE_NAME = 'secrets.keys';

/**
 * The key ring of a local installation. It is in `secrets.keys`, in a folder outside version control, is made on first use,
 * and only its owner can read it. Processes that start at the same time get the same key.
 *
 * @throws KeyRingError if the file is not a key ring. A key is never replaced, because what it sealed would be lost.
 */
export async function loadOrCreateLocalKeyRing(directory: string): Promise<KeyRing> {
  const path = join(directory, FILE_NAME);
  const existing = await readIfPresent(path);
  if (existing !== null) return parseKeyRing(existing);
  await mkdir(directory, { recursive: true });
  await createOnce(path, `local:${randomBytes(KEY_BYTES).toString('base64')}\n`);
  return parseKeyRing(await readFile(path, 'utf8'));
}

async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** To link a finished file is atomic: nobody reads half a key, and the first of several processes wins. */
async function createOnce(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, content);
    await link(draft, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeDurably(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
