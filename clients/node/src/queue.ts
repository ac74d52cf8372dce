import type { Entry } from './event.ts';

/** Consumed entries are cut off once there are so many of them. */
const CONSUMED_MAX = 1024;

/** Events that wait, oldest first, bounded in number and bytes. */
export interface Queue {
  readonly length: number;
  /** Of the events as JSON. */
  readonly bytes: number;
  /** Whether one more of so many bytes would be within the bounds. */
  hasRoom(bytes: number): boolean;
  add(entry: Entry): void;
  /** The oldest that fit a request, one at least where there is any; they stay. */
  head(eventsMax: number, bytesMax: number): readonly Entry[];
  /** Removes the oldest. */
  remove(count: number): void;
}

/** @param eventsMax What is there before, as by a journal, may be beyond the bounds; then nothing is added. */
export function createQueue(eventsMax: number, bytesMax: number): Queue {
  let entries: Entry[] = [];
  let first = 0;
  let bytes = 0;
  return {
    get length() {
      return entries.length - first;
    },
    get bytes() {
      return bytes;
    },
    hasRoom: (more) => entries.length - first < eventsMax && bytes + more <= bytesMax,
    add(entry) {
      entries.push(entry);
      bytes += entry.bytes;
    },
    head(countMax, headBytesMax) {
      let end = first;
      for (let sum = 0; end < entries.length && end - first < countMax; end += 1) {
        // The comma, too.
        sum += (entries[end]?.bytes ?? 0) + 1;
        if (sum > headBytesMax && end > first) break;
      }
      return entries.slice(first, end);
    },
    remove(count) {
      for (const entry of entries.slice(first, first + count)) bytes -= entry.bytes;
      first = Math.min(first + count, entries.length);
      if (first < CONSUMED_MAX && first < entries.length) return;
      entries = entries.slice(first);
      first = 0;
    },
  };
}
