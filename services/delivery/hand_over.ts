import type { InBatch, Leave } from '#infra/kafka/consumer/in_batch.ts';
import { isHandedOver } from '#pipelines/delivery/outcomes.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { Attempted } from './attempts.ts';
import type { TakenJobs } from './job_reader.ts';

/** What came of a batch. */
export interface BatchWork {
  attempted: readonly Attempted[];
  /** Letters of records that cannot be read. */
  unreadable: readonly DeadLetter[];
  /** Letters of events that made the work throw. */
  thrown: readonly DeadLetter[];
  moved: TakenJobs['moved'];
  leave?: Leave;
}

/** Where the partition is still ours after all, as the group was only silent for long, it is not looked at again at once. */
const REST_MS = 1_000;

/** Outcomes that are to be committed, as deciding them again would have another effect. */
const FINAL: ReadonlySet<string> = new Set(['delivered', 'diverted', 'dead']);

/**
 * Cuts a batch that was broken off to what has to be committed: records behind the last one of which anything was
 * done stay where they are, for the partition's next owner. What was not begun before that goes to a lane, due at once.
 */
export function handOver(work: BatchWork, { records }: Pick<InBatch, 'records'>, nowMs: number): BatchWork {
  // Where an event that threw stands is not known any more; it is rare enough that the rest goes to the lane.
  if (work.thrown.length > 0 || !work.attempted.some(({ outcome }) => isHandedOver(outcome))) return work;
  const done = work.attempted.filter(({ outcome }) => FINAL.has(outcome.outcome)).map(({ offset }) => offset);
  const last = done.reduce((one, other) => Math.max(one, other), -1);
  const rest = records.find(({ offset }) => offset > last);
  if (rest === undefined || (work.leave !== undefined && work.leave.offset <= rest.offset)) return work;
  return {
    attempted: work.attempted.filter(({ offset }) => offset <= last),
    unreadable: work.unreadable.filter(({ offset }) => offset <= last),
    thrown: [],
    moved: work.moved.filter(({ offset }) => offset <= last),
    leave: { offset: rest.offset, notBeforeMs: nowMs + REST_MS },
  };
}
