// Events on disk until the service has acknowledged them. The only part that needs a file system.
//
// Segments `00000001.jsonl`, ... hold a line of JSON for each event and each acknowledgement. Nothing is ever overwritten: a
// line that was torn, or that a disk gave back as zeros, is not JSON, and only it is lost. An acknowledgement stands in the
// event's segment or a later one, so segments are removed from the oldest on; where nothing waits, all of them.
import {
  closeSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type FolderLock, lockFolder } from './folder_lock.ts';
import { ClientError, type DeliveryCode } from './problems.ts';
import { schedule, type Timer } from './runtime.ts';
import type { Journal } from './sender.ts';

export { ClientError } from './problems.ts';
export type { Journal } from './sender.ts';

export interface JournalOptions {
  /**
   * When what was written is forced to the disk. A process that is killed loses nothing by any of them; a machine without
   * power loses with `interval` (the default) what was tracked in the last second, with `always` nothing, but each `track`
   * waits for the disk, and with `never` what the system had not written by itself.
   */
  fsync?: 'always' | 'interval' | 'never' | undefined;
  /** A segment is ended at so many bytes, by default 1 MiB. */
  segmentBytes?: number | undefined;
}

const SYNC_MS = 1_000;
const HEARTBEAT_MS = 20_000;
const SEGMENT = /^(\d{8})\.jsonl$/;
/** What is tracked may be personal. */
const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

interface Segment {
  number: number;
  /** Of its events, those that wait. */
  waiting: number;
}

interface OpenSegment {
  fd: number;
  bytes: number;
  segment: Segment;
}

/** An event that waits, and the segment in which it stands. */
interface Waiting {
  json: string;
  segment: Segment;
}

/**
 * Opens a folder as the journal of one client of one process. It reads all that waits.
 *
 * @throws ClientError `journal_folder_invalid`, or `journal_locked` where another process has it.
 */
export function openJournal(folder: string, options: JournalOptions = {}): Journal {
  const { fsync: policy = 'interval', segmentBytes = 1024 * 1024 } = options;
  try {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  } catch (error) {
    throw new ClientError('journal_folder_invalid', codeOf(error));
  }
  const lock = lockFolder(folder);
  try {
    return new FolderJournal(folder, policy, segmentBytes, lock);
  } catch (error) {
    lock.release();
    throw new ClientError('journal_folder_invalid', codeOf(error));
  }
}

class FolderJournal implements Journal {
  readonly #folder: string;
  readonly #policy: NonNullable<JournalOptions['fsync']>;
  readonly #segmentBytes: number;
  readonly #lock: FolderLock;
  /** By uuid, oldest first; emptied of the texts once they were handed over. */
  readonly #waiting = new Map<string, Waiting>();
  #segments: Segment[] = [];
  /** The segment that is written to; null until the next write, which then begins one. */
  #open: OpenSegment | null = null;
  #nextNumber = 1;
  #unreadable = 0;
  #onProblem: ((code: DeliveryCode) => void) | null = null;
  #syncing: Timer | null = null;
  #heartbeat: Timer | null = null;
  #state: 'working' | 'lost' | 'closed' = 'working';
  /** Since a write that failed: said once, not for each event. */
  #isFailing = false;

  constructor(folder: string, policy: NonNullable<JournalOptions['fsync']>, segmentBytes: number, lock: FolderLock) {
    this.#folder = folder;
    this.#policy = policy;
    this.#segmentBytes = segmentBytes;
    this.#lock = lock;
    this.#read();
    this.#removeDone();
  }

  attach(onProblem: (code: DeliveryCode) => void): readonly { uuid: string; json: string }[] {
    if (this.#onProblem !== null) throw new ClientError('journal_taken');
    this.#onProblem = onProblem;
    if (this.#unreadable > 0) onProblem('journal_unreadable');
    this.#beat();
    const left = [...this.#waiting].map(([uuid, { json }]) => ({ uuid, json }));
    for (const waiting of this.#waiting.values()) waiting.json = '';
    return left;
  }

  append({ uuid, json }: { uuid: string; json: string }): void {
    if (this.#state !== 'working') return;
    const segment = this.#write(json);
    // An id that waits already counts once, wherever it stands.
    if (segment === null || this.#waiting.has(uuid)) return;
    this.#waiting.set(uuid, { json: '', segment });
    segment.waiting += 1;
  }

  holds(uuid: string): boolean {
    return this.#waiting.has(uuid);
  }

  acknowledge(uuids: readonly string[]): void {
    if (this.#state !== 'working') return;
    const known = uuids.filter((uuid) => this.#forget(uuid));
    if (known.length === 0) return;
    // Where nothing waits any more the files go, and nothing of anybody stays.
    if (this.#waiting.size > 0) this.#write(JSON.stringify({ acknowledged: known }));
    this.#removeDone();
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#syncing?.cancel();
    this.#heartbeat?.cancel();
    this.#endSegment();
    this.#state = 'closed';
    this.#lock.release();
  }

  #forget(uuid: string): boolean {
    const waiting = this.#waiting.get(uuid);
    if (waiting === undefined) return false;
    waiting.segment.waiting -= 1;
    return this.#waiting.delete(uuid);
  }

  #read(): void {
    const numbers = readdirSync(this.#folder)
      .map((name) => Number(SEGMENT.exec(name)?.[1]))
      .filter((number) => number > 0);
    for (const number of numbers.sort((one, other) => one - other)) {
      const segment: Segment = { number, waiting: 0 };
      this.#segments.push(segment);
      this.#nextNumber = number + 1;
      const lines = readFileSync(this.#pathOf(number), 'utf8').split('\n');
      // The last one was torn, or is empty: what was written whole ends with a line break.
      const torn = lines.pop() ?? '';
      if (torn !== '') this.#unreadable += 1;
      for (const line of lines) this.#readLine(line, segment);
    }
  }

  #readLine(line: string, segment: Segment): void {
    const read = readLine(line);
    if (read === null) this.#unreadable += 1;
    else if ('acknowledged' in read) for (const uuid of read.acknowledged) this.#forget(uuid);
    else if (!this.#waiting.has(read.uuid)) {
      this.#waiting.set(read.uuid, { json: line, segment });
      segment.waiting += 1;
    }
  }

  /** Writes a line; null where it could not be, which `onProblem` is told. */
  #write(line: string): Segment | null {
    try {
      const open = this.#open ?? this.#beginSegment();
      const bytes = Buffer.from(`${line}\n`);
      for (let at = 0; at < bytes.length; ) at += writeSync(open.fd, bytes, at);
      if (this.#policy === 'always') fsyncSync(open.fd);
      open.bytes += bytes.length;
      if (this.#policy === 'interval') this.#syncing ??= schedule(SYNC_MS, () => this.#sync());
      if (open.bytes >= this.#segmentBytes) this.#endSegment();
      this.#isFailing = false;
      return open.segment;
    } catch {
      this.#undoWrite();
      if (!this.#isFailing) this.#onProblem?.('journal_failed');
      this.#isFailing = true;
      return null;
    }
  }

  /** Part of a line may be there, and the next one must not be written behind it. */
  #undoWrite(): void {
    try {
      if (this.#open !== null) ftruncateSync(this.#open.fd, this.#open.bytes);
    } catch {
      this.#endSegment();
    }
  }

  #beginSegment(): OpenSegment {
    const segment: Segment = { number: this.#nextNumber, waiting: 0 };
    const fd = openSync(this.#pathOf(segment.number), 'ax', OWNER_ONLY);
    this.#nextNumber += 1;
    this.#segments.push(segment);
    this.#open = { fd, bytes: 0, segment };
    // The file's name has to outlast a power failure as well.
    if (this.#policy !== 'never') syncFolder(this.#folder);
    return this.#open;
  }

  #endSegment(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    try {
      if (this.#policy !== 'never') fsyncSync(open.fd);
    } catch {
      this.#onProblem?.('journal_failed');
    } finally {
      closeSync(open.fd);
    }
  }

  #sync(): void {
    this.#syncing = null;
    if (this.#open === null) return;
    fsync(this.#open.fd, (error) => {
      // The segment was ended meanwhile, and made safe by that.
      if (error !== null && error.code !== 'EBADF') this.#onProblem?.('journal_failed');
    });
  }

  /** Removes the oldest segments as far as nothing in them waits. */
  #removeDone(): void {
    if (this.#waiting.size === 0) this.#endSegment();
    const stays = this.#segments.findIndex((segment) => segment.waiting > 0 || segment === this.#open?.segment);
    const done = this.#segments.splice(0, stays === -1 ? this.#segments.length : stays);
    for (const { number } of done) {
      try {
        unlinkSync(this.#pathOf(number));
      } catch {
        // It is read again at the next start, and what it holds has been acknowledged or is sent once more.
        this.#onProblem?.('journal_failed');
      }
    }
  }

  /** Other machines on the folder see by it that somebody lives; and by it this one sees that another took the folder over. */
  #beat(): void {
    this.#heartbeat = schedule(HEARTBEAT_MS, () => {
      if (this.#lock.refresh()) return this.#beat();
      this.#state = 'lost';
      this.#endSegment();
      this.#onProblem?.('journal_lost');
    });
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${String(number).padStart(8, '0')}.jsonl`);
  }
}

type Line = { uuid: string } | { acknowledged: string[] };

function readLine(line: string): Line | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { event, uuid, acknowledged } = value as { event?: unknown; uuid?: unknown; acknowledged?: unknown };
  if (Array.isArray(acknowledged)) return { acknowledged: acknowledged.filter((one) => typeof one === 'string') };
  return typeof event === 'string' && typeof uuid === 'string' ? { uuid } : null;
}

function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, 'r');
    fsyncSync(fd);
    closeSync(fd);
  } catch {
    // Windows opens no folders, and needs none synced.
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}
