import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '#infra/config/config.ts';
import { commandLineConfig } from '#infra/config/local_config.ts';

/** The ignored folder that holds everything local, unless LOCAL_DIR names another. */
function dataDirectory(env: Environment): string {
  return commandLineConfig(env).localDir ?? fileURLToPath(new URL('../../.local', import.meta.url));
}

/** What `npm start` wrote when everything was ready; null while it has not. */
export function readReadyFile(env: Environment): string | null {
  return readLocalFile(env, 'ready.json');
}

/** A file of the local folder; null where there is none. */
export function readLocalFile(env: Environment, name: string): string | null {
  try {
    return readFileSync(join(dataDirectory(env), name), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
