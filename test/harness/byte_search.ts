import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

const CHUNK_BYTES = 8 * 1024 * 1024;

/** Which of the texts, all of them in lower case ASCII, stand in the bytes, in whatever case. */
export function textsIn(bytes: Buffer, texts: readonly string[]): string[] {
  const lower = bytes.toString('latin1').toLowerCase();
  return texts.filter((text) => lower.includes(text));
}

/** Every file below a folder. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** Which of the texts stand in the bytes of a file; one that is removed meanwhile holds none. */
export function textsInFile(path: string, texts: readonly string[]): string[] {
  const overlap = Math.max(...texts.map((text) => text.length));
  const found = new Set<string>();
  const file = open(path);
  if (file === null) return [];
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES + overlap);
    for (let at = 0; ; at += CHUNK_BYTES) {
      const count = readSync(file, chunk, 0, chunk.length, at);
      for (const text of textsIn(chunk.subarray(0, count), texts)) found.add(text);
      if (count < chunk.length) return [...found];
    }
  } finally {
    closeSync(file);
  }
}

function open(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
