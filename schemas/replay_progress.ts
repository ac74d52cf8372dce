/** How far a replay is, as replay_progress.avsc defines it. */
export type ReplayPhase = 'waiting' | 'counting' | 'sending' | 'draining' | 'done' | 'cancelled' | 'failed';

export interface ReplayPartition {
  partition: number;
  first: number;
  /** The next offset to be read. */
  next: number;
  /** Behind the last offset of the range. */
  end: number;
}

export interface ReplayProgress {
  replay_id: string;
  phase: ReplayPhase;
  /** Stable code of what it waits for, or why it failed; else empty. */
  detail: string;
  partitions: ReplayPartition[];
  /** Events of the destination and site in what was read in this phase. */
  seen: number;
  /** Of these, known as delivered and left out. */
  delivered: number;
  /** Of these, waiting on a lane and left out. */
  pending: number;
  /** Records or letters that cannot be read or were cut. */
  unreadable: number;
  /** Of these, to be sent; in the phases after counting, written for delivery. */
  chosen: number;
  /** What counting found; null before its end. */
  to_send: number | null;
  /** Offsets of the range that delivery has yet to reach by itself; left out. */
  not_reached: number;
  /** Milliseconds since 1970 UTC. */
  started_at: number;
  updated_at: number;
  /** Of those chosen, skipped by delivery the last time: whether they are skipped again is decided when they are sent. */
  skipped_before: number;
  /** What counting found beside `to_send`; null before its end, and of a replay that an older version has counted. */
  found: ReplayFound | null;
}

export interface ReplayFound {
  delivered: number;
  pending: number;
  unreadable: number;
  skipped_before: number;
}
