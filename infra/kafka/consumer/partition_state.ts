// What a process knows of one partition: its queue, its position, and the range of the log that the broker still has.
import { createMutex, type Mutex } from '#infra/concurrency/gates.ts';
import type { InRecord } from '../record.ts';

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** Tells a partition from every other. */
export function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** What one fetch brought of one partition, waiting for its turn. */
export interface Fetched {
  records: InRecord[];
  /** Offset that was asked for; the first record may lie behind it. */
  fetchedOffset: number;
  /** Of the last record. */
  lastOffset: number;
  /** Behind the last record and the transaction markers that follow it. */
  endOffset: number;
  lag: number;
  bytes: number;
  /** The group's generation when it was fetched. */
  generation: number;
  /** The partition's `jumps` when it was fetched. */
  jumps: number;
  /** It does not continue what was fetched before: the committed offset is to be read again. */
  discontinuous: boolean;
}

/** A partition as this process works on it. */
export interface Slot extends TopicPartition {
  /** Work on the partition, one piece after the other. */
  turn: Mutex;
  waiting: Fetched[];
  /** Bytes waiting and in work. */
  bytes: number;
  /** Whether the loop that takes batches from the queue runs. */
  pumping: boolean;
  /** The moment at which its last batch was begun, as `Linger` has it. */
  begunMs: number;
  /** Generation in which the partition was acquired; -1: not acquired. */
  acquired: number;
  /** The offset behind the last fetch. */
  nextOffset: number;
  /** The first offset of the batch that was taken last. */
  takenOffset: number;
  /** Where the partition was begun in this generation if nothing was committed of it; -1: not begun so. */
  begunOffset: number;
  retained: Retained;
  /** How often the position to fetch from was moved; what was fetched before a move, though not waiting any more, is void. */
  jumps: number;
  failures: number;
  paused: boolean;
  /** Runs while the partition rests until a time. */
  timer: NodeJS.Timeout | null;
}

export function createSlot({ topic, partition }: TopicPartition): Slot {
  return {
    topic,
    partition,
    turn: createMutex(),
    waiting: [],
    bytes: 0,
    pumping: false,
    begunMs: Number.NEGATIVE_INFINITY,
    acquired: -1,
    nextOffset: 0,
    takenOffset: 0,
    begunOffset: -1,
    retained: createRetained(),
    jumps: 0,
    failures: 0,
    paused: false,
    timer: null,
  };
}

/** A partition with this many waiting fetches, or this many bytes of them, is paused. */
const WAITING_MAX = 4;
const SLOT_BYTES_MAX = 4 * 1024 * 1024;
/** Uncompressed bytes of the records of one batch at most, unless one fetch brought more. */
export const TAKEN_BYTES_MAX = SLOT_BYTES_MAX;
/** A process that holds more fetches only for partitions that have nothing. */
const PROCESS_BYTES_MAX = 64 * 1024 * 1024;

/** Whether a partition's queue is full; `processBytes` is what all partitions of the process hold. */
export function isFull({ waiting, bytes, timer }: Slot, processBytes: number): boolean {
  if (timer !== null || waiting.length >= WAITING_MAX || bytes >= SLOT_BYTES_MAX) return true;
  return processBytes >= PROCESS_BYTES_MAX && bytes > 0;
}

/**
 * Takes the first fetch that waits, merged with those behind it that continue it, up to so many bytes in all. A transaction
 * costs about the same for ten events and for a thousand: a stage that lags takes more at once and catches up.
 */
export function takeWaiting(slot: Slot, bytesMax: number): Fetched | undefined {
  const [first] = slot.waiting;
  if (first === undefined) return undefined;
  let count = 1;
  let bytes = first.bytes;
  for (const next of slot.waiting.slice(1)) {
    const continues = !next.discontinuous && next.generation === first.generation && next.jumps === first.jumps;
    if (!continues || bytes + next.bytes > bytesMax) break;
    bytes += next.bytes;
    count++;
  }
  const taken = slot.waiting.splice(0, count);
  const records = taken.flatMap((fetched) => fetched.records);
  const { lastOffset, endOffset, lag } = taken.at(-1) ?? first;
  return { ...first, records, bytes, lastOffset, endOffset, lag };
}

/** Empties the partition's queue. */
export function dropWaiting(slot: Slot): void {
  for (const { bytes } of slot.waiting) slot.bytes -= bytes;
  slot.waiting = [];
}

/** The range of a partition's log that the broker still has, as far as it is known. */
interface Retained {
  /** The broker said that an offset is not in its log, which goes from `start` to `end`. */
  outOfRange(asked: number, start: number, end: number): void;
  /** A fetch showed that there is no record from `first` up to `end`, only transaction markers or aborted records. */
  holdsNothing(first: number, end: number): void;
  /** Where to go on from instead of an offset that is not in the log. */
  nearest(offset: number): number;
  /** How many offsets between the two may have held records and are gone; no offset is counted twice. */
  takeSkipped(from: number, to: number): number;
  /** Something was taken at this offset, which is therefore in the log. */
  reached(offset: number): void;
  /** What the broker said may not hold any more: the partition is somebody else's, or was made anew. */
  forgetRange(): void;
}

/**
 * Only what the broker said moves the position: a fetch that begins elsewhere than the last seek proves nothing, as it may
 * have been under way before.
 */
export function createRetained(): Retained {
  let start = 0;
  /** An offset behind the end of a log that was cut off, and that end. */
  let cut: { offset: number; end: number } | null = null;
  let empty = { first: 0, end: 0 };
  let countedEnd = 0;

  return {
    outOfRange(asked, logStart, logEnd) {
      start = logStart;
      // What was read since the first time may not be committed yet.
      if (asked > logEnd && cut?.offset !== asked) cut = { offset: asked, end: logEnd };
    },
    holdsNothing(first, end) {
      empty = first >= empty.first && first <= empty.end ? { ...empty, end: Math.max(empty.end, end) } : { first, end };
    },
    nearest: (offset) => Math.max(start, offset === cut?.offset ? cut.end : offset),
    takeSkipped(from, to) {
      const isEmptyAt = from >= empty.first && from <= empty.end;
      const first = Math.max(from, countedEnd, isEmptyAt ? empty.end : from);
      countedEnd = Math.max(countedEnd, to);
      return Math.max(0, to - first);
    },
    reached(offset) {
      if (cut !== null && offset >= cut.offset) cut = null;
    },
    forgetRange() {
      start = 0;
      cut = null;
    },
  };
}
