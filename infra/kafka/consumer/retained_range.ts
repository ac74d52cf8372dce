/** The range of a partition's log that the broker still has, as far as it is known. */
export interface Retained {
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
