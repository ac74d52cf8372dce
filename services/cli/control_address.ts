// Where the control service is, what lets the command line in, and files of the local folder.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '#infra/config/environment.ts';
import { commandLineConfig } from '#infra/config/local_config.ts';
import { UsageError } from './command.ts';

/**
 * The control service that the environment names, or the one that runs locally.
 *
 * @param readyText What ready.json holds; null while nothing runs here.
 * @param readToken Reads the file of the local admin token.
 * @throws UsageError when neither is known; ConfigError when the environment cannot be used.
 */
export function controlAddress(
  env: Environment,
  readyText: string | null,
  readToken: (path: string) => string,
): { url: string; token: string } {
  const { control, adminTokenFile }: Record<string, unknown> = readyText === null ? {} : JSON.parse(readyText);
  const { controlUrl, adminToken } = commandLineConfig(env);
  const url = controlUrl ?? control;
  if (typeof url !== 'string') {
    throw new UsageError('not_running', 'nothing runs here and SVC_CONTROL_URL is not set: start it with npm start');
  }
  if (adminToken !== null) return { url, token: adminToken };
  // The local token is for the local service: it is not shown to another one.
  if (url !== control) throw new UsageError('token_missing', 'SVC_CONTROL_URL is set and SVC_ADMIN_TOKEN is not');
  if (typeof adminTokenFile !== 'string') throw new UsageError('token_missing', 'SVC_ADMIN_TOKEN is not set');
  return { url, token: readToken(adminTokenFile).trim() };
}

/** What `npm start` wrote when everything was ready; null while it has not. */
export function readReadyFile(env: Environment): string | null {
  return readLocalFile(env, 'ready.json');
}

/** The folder that holds everything local. */
export function localFolder(env: Environment): string {
  return commandLineConfig(env).localDir ?? fileURLToPath(new URL('../../.local', import.meta.url));
}

/** A file of the folder that holds everything local; null where there is none. */
export function readLocalFile(env: Environment, name: string): string | null {
  try {
    return readFileSync(join(localFolder(env), name), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
