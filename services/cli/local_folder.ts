// Where the control service is, what lets the command line in; files of the local folder, and how full its disks are.

import { readFileSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** Of ready.json, by the variables in whose place they are. */
export const LOCAL_ADDRESSES = {
  KAFKA_BROKERS: 'kafka',
  SCHEMA_REGISTRY_URL: 'registry',
  REDIS_URL: 'redis',
  CLICKHOUSE_URL: 'clickhouse',
};

/** The environment, with the addresses of the parts that run here where it names no others. */
export function partsEnvironment(env: Environment, ready: Readonly<Record<string, unknown>> | null): Environment {
  const local = Object.entries(LOCAL_ADDRESSES).flatMap(([variable, name]) => {
    const address = ready?.[name];
    return typeof address === 'string' ? [[variable, address] as const] : [];
  });
  const given = Object.entries(env).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  return Object.fromEntries([...local, ...given]);
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

export interface ObservedDisk {
  path: string;
  freeBytes: number;
  totalBytes: number;
}

const GIB = 1024 ** 3;

export const inGib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;

/** The one rule by which a disk is judged. */
export function fillOf({ freeBytes, totalBytes }: Omit<ObservedDisk, 'path'>): 'free' | 'nearly_full' | 'full' {
  const share = freeBytes / totalBytes;
  if (share >= 0.1 || freeBytes >= 20 * GIB) return 'free';
  return share < 0.01 || freeBytes < Math.min(GIB / 2, totalBytes / 20) ? 'full' : 'nearly_full';
}

/** What has a folder of its own among the local data, which may be a disk of its own. */
const DATA_FOLDERS = ['', 'kafka', 'redis', 'clickhouse'];
const ANSWER_MS_MAX = 4_000;

/** Each disk once; those of which it cannot be said in time are left out. */
export async function readDisks(folder: string): Promise<ObservedDisk[]> {
  const late = sleep(ANSWER_MS_MAX, null, { ref: false });
  const found = await Promise.all(DATA_FOLDERS.map((name) => Promise.race([diskOf(join(folder, name)), late])));
  const known = found.filter((disk) => disk !== null);
  return [...new Map(known.toReversed().map(({ device, ...disk }) => [device, disk])).values()].toReversed();
}

async function diskOf(path: string): Promise<(ObservedDisk & { device: number }) | null> {
  try {
    const [{ dev: device }, { bavail, blocks, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { device, path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
