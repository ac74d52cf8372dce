/** Offsets of one partition that form one block, both included. */
export interface BlockPlan {
  first: number;
  last: number;
}

/** Metadata of a committed offset that announces a block. */
export function writePlan(plan: BlockPlan): string {
  return `plan:${plan.first}-${plan.last}`;
}

/** The plan in an offset's metadata; null where there is none. */
export function readPlan(metadata: string): BlockPlan | null {
  const match = /^plan:(\d+)-(\d+)$/.exec(metadata);
  return match === null ? null : { first: Number(match[1]), last: Number(match[2]) };
}

export interface Fill<Row> extends BlockPlan {
  rows: Row[];
}

interface Part<Row> {
  offset: number;
  rows: Row[];
}

/** Rows gathered from consecutive records of one partition. */
export interface Block<Row> {
  /** The plan it must follow to the record; null where it may still choose its end. */
  readonly planned: BlockPlan | null;
  /** Records of the partition behind what was added last. */
  lag: number;
  add(part: Part<Row>): void;
  /** Whether it must be written now: a planned block when its last record is in, another by its rows. */
  isFull(rowsMax: number): boolean;
  isDue(nowMs: number, ageMaxMs: number): boolean;
  /** Whether a record lies behind the planned end, which itself is gone: compaction may have taken it. */
  isPast(offset: number): boolean;
  /** What is to be written, under the planned range where there is one; null where nothing is in it. */
  fill(): Fill<Row> | null;
}

/** An empty block. `openedMs` is when waiting for more begins to count. */
export function openBlock<Row>(planned: BlockPlan | null, openedMs: number): Block<Row> {
  const rows: Row[] = [];
  let first: number | null = null;
  let last = -1;
  return {
    planned,
    lag: 0,
    add(part) {
      first ??= part.offset;
      last = part.offset;
      for (const row of part.rows) rows.push(row);
    },
    isFull: (rowsMax) => (planned === null ? rows.length >= rowsMax : last >= planned.last),
    isDue: (nowMs, ageMaxMs) => planned === null && first !== null && nowMs - openedMs >= ageMaxMs,
    isPast: (offset) => planned !== null && offset > planned.last,
    fill() {
      if (first === null) return null;
      return { first: planned?.first ?? first, last: planned?.last ?? last, rows };
    },
  };
}
