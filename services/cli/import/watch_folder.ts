// Takes the files that come into a folder, one at a time, and moves each to `done` or `failed`.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, extname, join } from 'node:path';
import { UsageError } from '../command.ts';
import { SendError } from './edge_client.ts';
import type { Imported } from './import_file.ts';
import { importPaths } from './progress.ts';

export interface WatchPorts {
  everyMs: number;
  /** Ends when there is no file to take. */
  isOnce: boolean;
  say(line: string): void;
  sleep(ms: number): Promise<void>;
  /** Brings in further files; those that are left now. @throws UsageError; SendError where they can be had later */
  fetchNew(): Promise<{ hasMore: boolean; left: number }>;
  /** What was imported is kept in `done`. */
  keepsDone: boolean;
  /** Imports a file whole. @throws UsageError for one that cannot be imported; SendError for one that can be later */
  importOne(path: string): Promise<Imported>;
  /** Told what a file came to, and where its errors are by then. */
  onImported(path: string, imported: Imported): void;
}

/** Files that were moved, and when it ended those that the edge did not take. */
interface Watched {
  imported: number;
  failed: number;
  waiting: number;
}

const FILE = /\.(?:csv|tsv|txt|ndjson|jsonl|parquet)$/i;
/** Ours, and what is not whole yet. */
const OTHERS = /^\.|\.errors\.\w+$|\.(?:part|tmp|filepart|crdownload)$/i;
const LOCK = '.import.lock';

/** Whether a file of this name is taken. */
export const isImportName = (name: string): boolean => FILE.test(name) && !OTHERS.test(name);

/**
 * Looks again and again for files that have stopped growing, and imports them in the order of their names. What was not finished
 * when the process ended goes on at its next start. A file that the edge does not take now stays, and is tried again.
 *
 * @throws UsageError for a folder that is none, or that another process watches
 */
export async function watchFolder(folder: string, ports: WatchPorts): Promise<Watched> {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new UsageError('folder_unknown', `${folder} is no folder`);
  }
  lock(join(folder, LOCK));
  const counts: Watched = { imported: 0, failed: 0, waiting: 0 };
  try {
    for (const name of ['done', 'failed']) mkdirSync(join(folder, name), { recursive: true });
    dropLeftovers(folder);
    let { hasMore, left } = await fetched(ports);
    const strange = new Set<string>();
    let before = sizesOf(folder);
    for (;;) {
      await ports.sleep(ports.everyMs);
      const now = sizesOf(folder);
      const ready = [...now].filter(([name, size]) => before.get(name) === size).sort(([a], [b]) => (a < b ? -1 : 1));
      sayStrange(folder, strange, ports.say);
      const isHalted = await takeAll(folder, ready, counts, ports);
      before = now;
      const waiting = sizesOf(folder).size;
      if (ports.isOnce && (isHalted || (waiting === 0 && !hasMore))) return { ...counts, waiting: waiting + left };
      if (waiting === 0) ({ hasMore, left } = await fetched(ports));
    }
  } finally {
    rmSync(join(folder, LOCK), { force: true });
  }
}

async function fetched({ fetchNew, say }: WatchPorts): Promise<{ hasMore: boolean; left: number }> {
  try {
    return await fetchNew();
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    say(`${error.code}: ${error.message}; tried again`);
    return { hasMore: false, left: 1 };
  }
}

/** Whether one had to be left for later: those behind it would be, too. */
async function takeAll(
  folder: string,
  ready: readonly (readonly [name: string, size: string])[],
  counts: Watched,
  { importOne, onImported, keepsDone, say }: WatchPorts,
): Promise<boolean> {
  for (const [name, size] of ready) {
    const path = join(folder, name);
    try {
      const imported = await importOne(path);
      // What came behind its end would be lost with it.
      if (hasChanged(folder, name, size, say)) continue;
      // The file itself last: while it is here, what is missing is done at the next start.
      const { errorsPath } = imported;
      const isThere = errorsPath !== null && existsSync(errorsPath);
      onImported(path, { ...imported, errorsPath: isThere ? move(errorsPath, join(folder, 'done')) : errorsPath });
      if (keepsDone) move(path, join(folder, 'done'));
      else rmSync(path);
      counts.imported++;
    } catch (error) {
      if (error instanceof SendError) {
        say(`${name}: ${error.code}: ${error.message}; it stays and is tried again`);
        return true;
      }
      if (!(error instanceof UsageError)) throw error;
      if (hasChanged(folder, name, size, say)) continue;
      say(`${name}: ${error.code}: ${error.message}`);
      const moved = move(path, join(folder, 'failed'));
      writeFileSync(`${moved}.reason.txt`, `${error.code}: ${error.message}\n`);
      counts.failed++;
    }
    rmSync(importPaths(path, folder).progress, { force: true });
  }
  return false;
}

function hasChanged(folder: string, name: string, size: string, say: (line: string) => void): boolean {
  if (sizesOf(folder).get(name) === size) return false;
  say(`${name}: it changed while it was read, and is read again`);
  return true;
}

/** Says once of each file that it will stay, as somebody may wait for it. */
function sayStrange(folder: string, strange: Set<string>, say: (line: string) => void): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry;
    const isOurs = FILE.test(name) || OTHERS.test(name) || /\.progress\.json(?:\.new)?$/.test(name);
    if (!entry.isFile() || isOurs || strange.has(name)) continue;
    strange.add(name);
    say(`${name}: it is left, as it is neither .csv, .tsv, .txt, .ndjson, .jsonl nor .parquet`);
  }
}

/** By name, what changes while a file grows. */
function sizesOf(folder: string): Map<string, string> {
  const sizes = new Map<string, string>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() || !isImportName(entry.name)) continue;
    const found = statSync(join(folder, entry.name), { throwIfNoEntry: false });
    if (found !== undefined) sizes.set(entry.name, `${found.size} ${found.mtimeMs}`);
  }
  return sizes;
}

/** Where it went: under its name, or with a number where that is taken. */
function move(path: string, folder: string): string {
  const name = basename(path);
  const kind = extname(name);
  let target = join(folder, name);
  for (let number = 2; existsSync(target); number++) {
    target = join(folder, `${name.slice(0, name.length - kind.length)}.${number}${kind}`);
  }
  renameSync(path, target);
  return target;
}

/** Progress of files that were moved just before the process ended. */
function dropLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const source = /^(.+)\.progress\.json$/.exec(name)?.[1];
    if (source !== undefined && !existsSync(join(folder, source))) rmSync(join(folder, name));
  }
}

/** @throws UsageError where a process that runs has the folder */
function lock(path: string): void {
  const owner = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  // In a container a process that was started anew may have the number of the one before.
  if (owner > 0 && owner !== process.pid && runs(owner)) {
    throw new UsageError('folder_taken', `process ${owner} watches this folder (${path})`);
  }
  rmSync(path, { force: true });
  const file = openSync(path, 'wx');
  writeSync(file, String(process.pid));
  closeSync(file);
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
