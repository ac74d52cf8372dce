// What a process knows of one partition: its queue, its position, and the range of the log that the broker still has.
import type { Batch } from 'kafkajs';
import { createMutex } from '#infra/concurrency/gates.ts';
import { type InRecord, toInRecord } from '../record.ts';

export interface TopicPartition {
  topic: string;
  partition: number;
}

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

/** The client keeps the offset it asked for, though its types do not say so. */
export function toFetched(batch: Batch, generation: number, { nextOffset, jumps }: Slot): Fetched {
  const fetchedOffset = Number((batch as unknown as { fetchedOffset: string }).fetchedOffset);
  return {
    records: batch.messages.map(toInRecord),
    fetchedOffset,
    lastOffset: Number(batch.messages.at(-1)?.offset ?? -1),
    endOffset: Number(batch.lastOffset()) + 1,
    lag: Math.max(0, Number(batch.highWatermark) - Number(batch.lastOffset()) - 1),
    bytes: batch.messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    generation,
    jumps,
    discontinuous: fetchedOffset !== nextOffset,
  };
}

export type Slot = ReturnType<typeof createSlot>;

export function createSlot({ topic, partition }: TopicPartition) {
  return {
    topic,
    partition,
    /** Work on the partition, one piece after the other. */
    turn: createMutex(),
    waiting: [] as Fetched[],
    /** Bytes waiting and in work. */
    bytes: 0,
    /** Whether the loop that takes batches from the queue runs. */
    pumping: false,
    /** The moment at which its last batch was begun, as `Linger` has it. */
    begunMs: Number.NEGATIVE_INFINITY,
    /** Generation in which the partition was acquired; -1: not acquired. */
    acquired: -1,
    /** The offset behind the last fetch. */
    nextOffset: 0,
    /** The first offset of the batch that was taken last. */
    takenOffset: 0,
    /** Where the partition was begun in this generation if nothing was committed of it; -1: not begun so. */
    begunOffset: -1,
    retained: createRetained(),
    /** Whether a piece of work on it is under way. */
    working: false,
    /** Steps of work on it that were begun or done. */
    steps: 0,
    /** How often the position to fetch from was moved; what was fetched before a move, though not waiting any more, is void. */
    jumps: 0,
    failures: 0,
    paused: false,
    /** Runs while the partition rests until a time. */
    timer: null as NodeJS.Timeout | null,
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

export function dropWaiting(slot: Slot): void {
  for (const { bytes } of slot.waiting) slot.bytes -= bytes;
  slot.waiting = [];
}

/**
 * The range of a partition's log that the broker still has, as far as it is known. Only what the broker said moves the
 * position: a fetch that begins elsewhere than the last seek proves nothing, as it may have been under way before.
 */
export function createRetained() {
  let start = 0;
  /** An offset behind the end of a log that was cut off, and that end. */
  let cut: { offset: number; end: number } | null = null;
  let empty = { first: 0, end: 0 };
  let countedEnd = 0;

  return {
    /** The broker said that an offset is not in its log, which goes from `logStart` to `logEnd`. */
    outOfRange(asked: number, logStart: number, logEnd: number): void {
      start = logStart;
      // What was read since the first time may not be committed yet.
      if (asked > logEnd && cut?.offset !== asked) cut = { offset: asked, end: logEnd };
    },
    /** A fetch showed that there is no record from `first` up to `end`, only transaction markers or aborted records. */
    holdsNothing(first: number, end: number): void {
      empty = first >= empty.first && first <= empty.end ? { ...empty, end: Math.max(empty.end, end) } : { first, end };
    },
    /** Where to go on from instead of an offset that is not in the log. */
    nearest: (offset: number): number => Math.max(start, offset === cut?.offset ? cut.end : offset),
    /** How many offsets between the two may have held records and are gone; no offset is counted twice. */
    takeSkipped(from: number, to: number): number {
      const isEmptyAt = from >= empty.first && from <= empty.end;
      const first = Math.max(from, countedEnd, isEmptyAt ? empty.end : from);
      countedEnd = Math.max(countedEnd, to);
      return Math.max(0, to - first);
    },
    /** Something was taken at this offset, which is therefore in the log. */
    reached(offset: number): void {
      if (cut !== null && offset >= cut.offset) cut = null;
    },
    /** What the broker said may not hold any more: the partition is somebody else's, or was made anew. */
    forgetRange(): void {
      start = 0;
      cut = null;
    },
  };
}
