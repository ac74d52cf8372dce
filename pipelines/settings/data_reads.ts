import type { DataRead } from '#schemas/records.ts';

/** One reading of data of people. */
export type OneRead = Pick<DataRead, 'read_by' | 'site_id' | 'kind' | 'format' | 'rows'>;

/** Makes entries of readings: the first of its kind is one at once, those that soon follow it come to one more. */
export interface DataReadEntries {
  /** The entries that are to be written now. */
  add(read: OneRead, nowMs: number): DataRead[];
  /** Those of readings that were counted and whose time is over. */
  due(nowMs: number): DataRead[];
  /** Those of all that were counted: nothing more comes. */
  rest(): DataRead[];
}

/** A page that is left open asks again and again. */
const SAME_MS = 10 * 60_000;
const KINDS_MAX = 5_000;

interface Counted {
  overMs: number;
  /** What followed the first; null: nothing did. */
  entry: DataRead | null;
}

/** Holds who reads what for as long as the same is counted. */
export function createDataReadEntries(): DataReadEntries {
  /** In the order in which they began. */
  const counted = new Map<string, Counted>();

  function end(isOver: (one: Counted) => boolean): DataRead[] {
    const ended: DataRead[] = [];
    for (const [key, one] of counted) {
      if (!isOver(one)) break;
      counted.delete(key);
      if (one.entry !== null) ended.push(one.entry);
    }
    return ended;
  }
  const due = (nowMs: number): DataRead[] => end(({ overMs }) => overMs <= nowMs);
  return {
    add(read, nowMs) {
      const ended = due(nowMs);
      const { read_by, site_id, kind, format, rows } = read;
      const key = JSON.stringify([read_by, site_id, kind, format]);
      const one = counted.get(key);
      const own: DataRead = { read_by, site_id, kind, format, rows, first_at: nowMs, last_at: nowMs, reads: 1 };
      if (one !== undefined) {
        one.entry = one.entry === null ? own : together(one.entry, own);
        return ended;
      }
      if (counted.size >= KINDS_MAX) ended.push(...end(() => counted.size >= KINDS_MAX));
      counted.set(key, { overMs: nowMs + SAME_MS, entry: null });
      return [...ended, own];
    },
    due,
    rest: () => end(() => true),
  };
}

const together = (one: DataRead, other: DataRead): DataRead => ({
  ...one,
  last_at: other.last_at,
  reads: one.reads + other.reads,
  rows: one.rows === null || other.rows === null ? null : one.rows + other.rows,
});
