// Replays of stored events to a destination: range, jobs, progress, turns of accounts.
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { ReplayPartition, ReplayPhase, ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';

/** What reading a part of the range came to, in events but for `unreadable`. */
export interface ReadCounts {
  seen: number;
  delivered: number;
  pending: number;
  unreadable: number;
  chosen: number;
  /** Of those chosen. */
  skipped_before: number;
}

export const NO_COUNTS: ReadCounts = { seen: 0, delivered: 0, pending: 0, unreadable: 0, chosen: 0, skipped_before: 0 };

/** A replay that has read nothing yet. */
export function newProgress(replayId: string, nowMs: number): ReplayProgress {
  return {
    replay_id: replayId,
    phase: 'waiting',
    detail: '',
    partitions: [],
    ...NO_COUNTS,
    to_send: null,
    found: null,
    not_reached: 0,
    started_at: nowMs,
    updated_at: nowMs,
  };
}

/** What counting found, once all of the range is read. */
export function counted(progress: ReplayProgress): ReplayProgress {
  const { chosen, delivered, pending, unreadable, skipped_before } = progress;
  return { ...progress, to_send: chosen, found: { delivered, pending, unreadable, skipped_before } };
}

/** Begins to read the range from its first offset, counting from nothing. */
export function beginReading(
  progress: ReplayProgress,
  phase: 'counting' | 'sending',
  partitions: readonly ReplayPartition[],
  nowMs: number,
): ReplayProgress {
  const fresh = partitions.map((one) => ({ ...one, next: one.first }));
  return { ...progress, ...NO_COUNTS, phase, detail: '', partitions: fresh, updated_at: nowMs };
}

/** After a part of one partition, up to `next`. */
export function addCounts(
  progress: ReplayProgress,
  partition: number,
  next: number,
  counts: ReadCounts,
  nowMs: number,
): ReplayProgress {
  const names = Object.keys(NO_COUNTS) as (keyof ReadCounts)[];
  const sums = Object.fromEntries(names.map((name) => [name, progress[name] + counts[name]]));
  return {
    ...progress,
    ...sums,
    partitions: progress.partitions.map((one) => (one.partition === partition ? { ...one, next } : one)),
    updated_at: nowMs,
  };
}

/** Goes on to a phase in which nothing is read. */
export function inPhase(progress: ReplayProgress, phase: ReplayPhase, detail: string, nowMs: number): ReplayProgress {
  return { ...progress, phase, detail, updated_at: nowMs };
}

export function isOver(phase: ReplayPhase): boolean {
  return phase === 'done' || phase === 'cancelled' || phase === 'failed';
}

/** Share of the phase's range that is read, from 0 to 1; null while the range is not known. */
export function shareRead({ phase, partitions }: ReplayProgress): number | null {
  if (phase === 'waiting') return null;
  const total = partitions.reduce((sum, { first, end }) => sum + end - first, 0);
  const read = partitions.reduce((sum, { first, next }) => sum + next - first, 0);
  return total === 0 ? 1 : read / total;
}

/**
 * Whether a replay to a destination, or to another of its kind, is not over: it is to begin, runs or is paused. One whose command is not known here yet
 * may be to any destination.
 */
export function isReplayed(
  replays: readonly Pick<Replay, 'replay_id' | 'destination'>[],
  progresses: ReadonlyMap<string, Pick<ReplayProgress, 'phase'>>,
  destination: string,
): boolean {
  const goesOn = (id: string): boolean => !isOver(progresses.get(id)?.phase ?? 'waiting');
  const kind = kindOfDestination(destination);
  if (replays.some((one) => kindOfDestination(one.destination) === kind && goesOn(one.replay_id))) return true;
  const known = new Set(replays.map(({ replay_id }) => replay_id));
  return [...progresses.keys()].some((id) => !known.has(id) && goesOn(id));
}

/** What is known of one partition of the topic to be read. */
export interface PartitionFacts {
  partition: number;
  /** First offset that is still there, and the one behind the last. */
  low: number;
  high: number;
  /** Offsets of the first records stamped at the range's beginning and end, or later. */
  from: number;
  to: number;
  /** What delivery reads next by itself; null where that does not matter, as for dead letters. */
  reached: number | null;
}

export interface Range {
  partitions: ReplayPartition[];
  /** Offsets of the range that delivery has yet to reach by itself. */
  notReached: number;
}

/**
 * What a replay reads of each partition: the range by time, up to where delivery itself has come, as what lies behind
 * that is going to be delivered anyway. Partitions of which nothing is to be read are left out.
 */
export function rangeOf(facts: readonly PartitionFacts[]): Range {
  const range: Range = { partitions: [], notReached: 0 };
  for (const { partition, low, high, from, to, reached } of facts) {
    const first = Math.max(low, from);
    const wanted = Math.min(high, to);
    const end = reached === null ? wanted : Math.min(wanted, reached);
    const left = wanted - Math.max(first, end);
    // One offset is the marker that ends the last transaction.
    if (left > 1) range.notReached += left;
    if (first < end) range.partitions.push({ partition, first, next: first, end });
  }
  return range;
}

/**
 * What of the range delivery has yet to read, by partition. A single offset is the marker that ends the last transaction
 * and is left out; several may all be markers too, which only reading them shows.
 */
export function gapsOf(facts: readonly PartitionFacts[]): ReplayPartition[] {
  return facts.flatMap(({ partition, low, high, from, to, reached }) => {
    const first = Math.max(low, from, reached ?? high);
    const end = Math.min(high, to);
    return end - first > 1 ? [{ partition, first, next: first, end }] : [];
  });
}

/** Events and bytes of one job: a delivery process takes up a job as a whole. */
const JOB_EVENTS_MAX = 500;
const JOB_BYTES_MAX = 128 * 1024;

/** Cuts events into jobs of one site each, in their order. */
export function cutJobs(views: readonly EncodedEvent[]): EncodedEvent[][] {
  const jobs: EncodedEvent[][] = [];
  const open = new Map<string, { views: EncodedEvent[]; bytes: number }>();
  for (const view of views) {
    const bytes = view.eventBytes.length + view.personBytes.length;
    const current = open.get(view.siteId);
    if (current !== undefined && current.views.length < JOB_EVENTS_MAX && current.bytes + bytes <= JOB_BYTES_MAX) {
      current.views.push(view);
      current.bytes += bytes;
    } else {
      const job = [view];
      jobs.push(job);
      open.set(view.siteId, { views: job, bytes });
    }
  }
  return jobs;
}

/**
 * How far the partitions of a range were read, also over what holds no record, such as transaction markers. Of what was empty
 * only the last place is kept: records lie between it and the one before, which are taken first.
 */
export function createPassed() {
  const ends = new Map<number, number>();
  const empties = new Map<number, { first: number; end: number }>();
  return {
    /** All records before `end` were taken, or are gone. */
    until(partition: number, end: number): void {
      ends.set(partition, Math.max(ends.get(partition) ?? 0, end));
    },
    /** There is no record from `first` up to `end`; what lies before may still be on its way. */
    empty(partition: number, first: number, end: number): void {
      const last = empties.get(partition);
      const continues = last !== undefined && first >= last.first && first <= last.end;
      empties.set(partition, continues ? { first: last.first, end: Math.max(last.end, end) } : { first, end });
    },
    /** How far there is nothing left to take of a partition of which all before `next` was taken. */
    reaches(partition: number, next: number): number {
      const end = Math.max(next, ends.get(partition) ?? 0);
      const empty = empties.get(partition);
      return empty !== undefined && empty.first <= end ? Math.max(end, empty.end) : end;
    },
  };
}

/** How long a replay sends before one of another account has its turn. */
const TURN_MS = 60_000;

/** A replay that may be carried on. */
export interface OpenReplay {
  replay: Replay;
  /** Whose it is; null where it is of all sites, whosever they are. */
  account: string | null;
  /** Whether it has sent some of what it is to send. */
  isBegun: boolean;
}

/**
 * Which of the replays to destinations of a kind is carried on: the oldest of the account whose turn is the longest ago, so that nobody waits
 * for all that another account has asked for. One of all sites has to know what every other has sent: those that were begun
 * are ended before it, and none is begun while it waits.
 *
 * @param open The oldest first.
 * @param lastTurns When each account last had its turn.
 */
export function nextTurn(
  open: readonly OpenReplay[],
  lastTurns: ReadonlyMap<string | null, number>,
): OpenReplay | undefined {
  const begun = open.filter(({ isBegun }) => isBegun);
  const isAllAwaited = begun.length > 0 && open.some(({ account }) => account === null);
  const since = ({ account }: OpenReplay): number => lastTurns.get(account) ?? 0;
  return (isAllAwaited ? begun : open).toSorted((one, other) => since(one) - since(other))[0];
}

/**
 * Whether a replay that sends makes way for the next, to go on from where it is later. Only those of different accounts take
 * turns: their sites are different ones, so that neither has to know what the other has written and is not delivered yet.
 */
export function shouldYield(account: string | null, next: OpenReplay | undefined, sentMs: number): boolean {
  return account !== null && sentMs >= TURN_MS && next !== undefined && ![account, null].includes(next.account);
}
