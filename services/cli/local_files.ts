import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The ignored folder that holds everything local. */
export const DATA_DIRECTORY = fileURLToPath(new URL('../../.local', import.meta.url));

/** What `npm start` wrote when everything was ready; null while it has not. */
export function readReadyFile(): string | null {
  try {
    return readFileSync(join(DATA_DIRECTORY, 'ready.json'), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
