// One process at a time in a folder, by files that are there before they are looked for.
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, uptime } from 'node:os';
import { join } from 'node:path';
import { ClientError } from './problems.ts';

export interface FolderLock {
  /** Says that the holder lives; false where another has taken the folder over. */
  refresh(): boolean;
  release(): void;
}

const LOCK = /^lock\.[\w-]+$/;
/** A holder on another machine, or in another container, that says nothing for so long is gone. */
const SILENT_MS = 60_000;
/** Clocks of a machine and its files may differ. */
const CLOCK_SLACK_MS = 5_000;

interface Holder {
  pid: number;
  host: string;
  /** Tells a process from a later one of the same number; null where the system does not say. */
  started: string | null;
}

/**
 * Takes a folder. Each process writes a file of its own and then looks for others: of two that come at once at least one sees
 * the other, so never both go on, though both may be refused. Files of processes that are gone are removed.
 *
 * @throws ClientError `journal_locked`, or `journal_folder_invalid`.
 */
export function lockFolder(folder: string): FolderLock {
  const name = `lock.${process.pid}-${crypto.randomUUID()}`;
  const path = join(folder, name);
  const release = (): void => remove(path);
  try {
    closeSync(openSync(path, 'wx'));
  } catch (error) {
    throw new ClientError('journal_folder_invalid', String((error as NodeJS.ErrnoException).code));
  }
  try {
    writeFileSync(path, JSON.stringify(self()));
  } catch {
    // Of a full disk: an empty lock is one all the same, and what waits can be sent, which makes room.
  }
  for (const other of readdirSync(folder).filter((file) => LOCK.test(file) && file !== name)) {
    if (!isHeld(join(folder, other))) {
      remove(join(folder, other));
      continue;
    }
    release();
    throw new ClientError('journal_locked');
  }
  return {
    release,
    refresh() {
      try {
        const now = new Date();
        utimesSync(path, now, now);
        return true;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'ENOENT';
      }
    },
  };
}

function isHeld(path: string): boolean {
  let text: string;
  let refreshedMs: number;
  try {
    refreshedMs = statSync(path).mtimeMs;
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // Removed just now, or not for us to read.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
  const holder = readHolder(text);
  // Of a file that is being written nothing can be read yet; after a power failure nothing ever.
  if (holder === null || holder.host !== hostname()) return Math.abs(Date.now() - refreshedMs) < SILENT_MS;
  if (!isAlive(holder.pid)) return false;
  const started = startOf(holder.pid);
  if (holder.started !== null && started !== null) return holder.started === started;
  // Older than what lives under the number now: this process, or else the machine's start.
  const livesS = holder.pid === process.pid ? process.uptime() : uptime();
  return refreshedMs > Date.now() - livesS * 1_000 - CLOCK_SLACK_MS;
}

function readHolder(text: string): Holder | null {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    return typeof holder?.pid === 'number' && typeof holder.host === 'string'
      ? ({ started: null, ...holder } as Holder)
      : null;
  } catch {
    return null;
  }
}

function self(): Holder {
  return { pid: process.pid, host: hostname(), started: startOf(process.pid) };
}

/** When a process began: the boot and the ticks since, as Linux has them; null elsewhere. */
function startOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    return `${boot}.${after.split(' ')[19] ?? ''}`;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's, and alive.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or not ours to remove: then it is judged again by whoever comes next.
  }
}
