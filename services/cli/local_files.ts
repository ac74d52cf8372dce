import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '#services/start/config.ts';

/** The ignored folder that holds everything local, as `npm start` finds it. */
export const DATA_DIRECTORY = dataDirectory();

/** What `npm start` wrote when everything was ready; null while it has not. */
export function readReadyFile(): string | null {
  try {
    return readFileSync(join(DATA_DIRECTORY, 'ready.json'), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
