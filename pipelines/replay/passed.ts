/** How far the partitions of a range were read, also over what holds no record, such as transaction markers. */
export interface Passed {
  /** All records before `end` were taken, or are gone. */
  until(partition: number, end: number): void;
  /** There is no record from `first` up to `end`; what lies before may still be on its way. */
  empty(partition: number, first: number, end: number): void;
  /** How far there is nothing left to take of a partition of which all before `next` was taken. */
  reaches(partition: number, next: number): number;
}

interface Empty {
  first: number;
  end: number;
}

/** Of what was empty only the last place is kept: records lie between it and the one before, which are taken first. */
export function createPassed(): Passed {
  const ends = new Map<number, number>();
  const empties = new Map<number, Empty>();

  return {
    until(partition, end) {
      ends.set(partition, Math.max(ends.get(partition) ?? 0, end));
    },
    empty(partition, first, end) {
      const last = empties.get(partition);
      const continues = last !== undefined && first >= last.first && first <= last.end;
      empties.set(partition, continues ? { first: last.first, end: Math.max(last.end, end) } : { first, end });
    },
    reaches(partition, next) {
      const end = Math.max(next, ends.get(partition) ?? 0);
      const empty = empties.get(partition);
      return empty !== undefined && empty.first <= end ? Math.max(end, empty.end) : end;
    },
  };
}
