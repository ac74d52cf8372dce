// The files of variables of a folder: read, replaced all or none, and changed by one command at a time.

import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../command.ts';
import type { EnvFile } from './environment_text.ts';

/** Each file once, however many links lead to it. */
export function filesIn(folder: string): EnvFile[] {
  const all = readdirSync(folder).filter((name) => name.endsWith('.env'));
  const byPath = Map.groupBy(all.sort(), (name) => realpathSync(join(folder, name)));
  return [...byPath].map(([path, names]) => ({ path, names, text: readFileSync(path, 'utf8') }));
}

/** A new text for a file that was read. */
export interface Replacement {
  file: EnvFile;
  text: string;
}

export interface StagedFiles {
  /** Puts all in their places, or none. @throws UsageError `file_changed` */
  commit(): void;
  /** Takes away what is left of them; safe after `commit`. */
  discard(): void;
}

const newPath = (path: string): string => `${path}.new`;
const oldPath = (path: string): string => `${path}.old`;

/** Takes away what a command that was killed has left beside these files. */
export function sweepBeside(files: readonly EnvFile[]): void {
  for (const { path } of files) for (const beside of [newPath(path), oldPath(path)]) rmSync(beside, { force: true });
}

/** Writes new texts beside the files, with their modes and owners. @throws what writing does, with nothing left */
export function stageFiles(replacements: readonly Replacement[]): StagedFiles {
  const written: string[] = [];
  const discard = (): void => {
    for (const path of written) rmSync(path, { force: true });
  };
  try {
    for (const { file, text } of replacements) {
      const path = newPath(file.path);
      writeNew(path, text, () => written.push(path));
      const { uid, gid, mode } = statSync(file.path);
      chownSync(path, uid, gid);
      chmodSync(path, mode & 0o7777);
    }
  } catch (error) {
    discard();
    throw error;
  }
  return { commit: () => replaceAll(replacements.map(({ file }) => file)), discard };
}

function replaceAll(files: readonly EnvFile[]): void {
  const changed = files.find(({ path, text }) => readFileSync(path, 'utf8') !== text);
  if (changed !== undefined)
    throw new UsageError('file_changed', `${changed.path} was changed meanwhile; no file was replaced: run it again`);
  const linked: string[] = [];
  const replaced: string[] = [];
  try {
    for (const { path } of files) {
      linkSync(path, oldPath(path));
      linked.push(path);
    }
    for (const { path } of files) {
      renameSync(newPath(path), path);
      replaced.push(path);
    }
  } catch (error) {
    for (const path of replaced) renameSync(oldPath(path), path);
    throw error;
  } finally {
    for (const path of linked) rmSync(oldPath(path), { force: true });
    for (const folder of new Set(files.map(({ path }) => dirname(path)))) flush(folder);
  }
}

/** Writes a file that there is not yet, for its owner alone, onto the disk. */
function writeNew(path: string, text: string, onMade: () => void = () => undefined): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    onMade();
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Writes a file for its owner alone, whole or not at all. */
export function writeSecret(path: string, text: string): void {
  rmSync(newPath(path), { force: true });
  writeNew(newPath(path), text);
  renameSync(newPath(path), path);
  flush(dirname(path));
}

/** Who changes a folder: by its process id, which says nothing of one on another host. */
interface Holder {
  pid: number;
  since: string;
}

/** Runs work while no other command does in the folder. @throws UsageError `rotation_running` */
export async function whileLocked<T>(folder: string, nowMs: number, work: () => Promise<T>): Promise<T> {
  const path = join(folder, 'rotation.lock');
  const holder: Holder = { pid: process.pid, since: new Date(nowMs).toISOString() };
  takeLock(path, JSON.stringify(holder));
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function takeLock(path: string, text: string): void {
  try {
    writeNew(path, text);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const before = readFileSync(path, 'utf8');
  const { pid, since } = holderOf(before);
  const running = (who: string): UsageError =>
    new UsageError('rotation_running', `${path}: ${who}; if that is no such command, take the file away`);
  if (pid === undefined) throw running('it does not say whose it is');
  if (isAlive(pid)) throw running(`process ${pid} changes passwords here since ${since}`);
  // Of two that find it stale one renames it; the other finds none, or the new one of the first, which it gives back.
  const stale = `${path}.${process.pid}`;
  renameSync(path, stale);
  try {
    if (readFileSync(stale, 'utf8') !== before) {
      linkSync(stale, path);
      throw running('another command has just taken it');
    }
    writeNew(path, text);
  } finally {
    rmSync(stale, { force: true });
  }
}

function holderOf(text: string): Partial<Holder> {
  try {
    return JSON.parse(text) as Partial<Holder>;
  } catch {
    return {};
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
