// Deletes backups that are no longer wanted, and what is left of those that were never finished.

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupFile, readManifest } from './archive.ts';

/** A folder that holds a backup, or what may become one. */
interface BackupFolder {
  name: string;
  /** When it was begun, in milliseconds since 1970 UTC; null: it is not finished. */
  takenAtMs: number | null;
  /** Whether ClickHouse's rows were backed up with it. */
  hasRows: boolean;
  /** When something in it was last written. */
  changedAtMs: number;
}

const DAY_MS = 24 * 3_600_000;
/** One that was written to so lately may be under way: nothing is while ClickHouse writes, for hours where there is much. */
const UNDER_WAY_MS = 12 * 3_600_000;

/** Names of what may go: what is too old, but for the newest that holds as much, and what nobody finishes any more. */
export function outdated(folders: readonly BackupFolder[], days: number, nowMs: number): string[] {
  return folders
    .filter(({ takenAtMs, hasRows, changedAtMs }) => {
      if (takenAtMs === null) return nowMs - changedAtMs > UNDER_WAY_MS;
      const hasNewer = folders.some((other) => (other.takenAtMs ?? 0) > takenAtMs && (other.hasRows || !hasRows));
      return hasNewer && nowMs - takenAtMs > days * DAY_MS;
    })
    .map(({ name }) => name);
}

/** Deletes them from a folder of backups, and resolves to their names. Folders with anything else in them are left. @throws BackupError */
export async function pruneBackups(folder: string, days: number, nowMs: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' || error.code === 'ENOTDIR'
      ? new BackupError('folder_missing', `there is no folder ${folder}`)
      : error;
  });
  const folders: BackupFolder[] = [];
  for (const entry of entries) {
    const read = entry.isDirectory() ? await readFolder(join(folder, entry.name)) : null;
    if (read !== null) folders.push({ name: entry.name, ...read });
  }
  const names = outdated(folders, days, nowMs);
  for (const name of names) await rm(join(folder, name), { recursive: true });
  return names;
}

/** Null where it is not certain that the folder holds a backup alone. */
async function readFolder(path: string): Promise<Omit<BackupFolder, 'name'> | null> {
  const entries = await readdir(path, { withFileTypes: true });
  if (!entries.every((entry) => entry.isFile() && isBackupFile(entry.name))) return null;
  const changes = await Promise.all([path, ...entries.map(({ name }) => join(path, name))].map((one) => stat(one)));
  const changedAtMs = Math.max(...changes.map(({ mtimeMs }) => mtimeMs));
  try {
    const { taken_at: takenAtMs, clickhouse } = await readManifest(path);
    return { takenAtMs, hasRows: clickhouse !== null, changedAtMs };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return error.code === 'backup_missing' ? { takenAtMs: null, hasRows: false, changedAtMs } : null;
  }
}
