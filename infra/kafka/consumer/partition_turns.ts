// The turns of a partition: a fetched batch is queued, taken, processed and committed; after a failure it is read again.

import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload } from 'kafkajs';
import { recoveryOf, StageFailedError } from '#infra/errors.ts';
import type { Deferral, InBatch } from './consumption.ts';
import { toFetched } from './group_consumer.ts';
import { type Member, slotOf } from './member.ts';
import {
  dropWaiting,
  type Fetched,
  isFull,
  nameOf,
  type Slot,
  TAKEN_BYTES_MAX,
  type TopicPartition,
  takeWaiting,
} from './partition_state.ts';

/** Queues what a fetch brought, and sees that somebody takes from the queue. Never waits for the work. */
export async function queueFetched(member: Member, payload: EachBatchPayload): Promise<void> {
  const { batch, isRunning, isStale, resolveOffset } = payload;
  // A fetch from one broker may come back after the group was joined again through another: to take what is somebody
  // else's by now would fence its owner.
  if (member.halted || !isRunning() || isStale() || !member.assignedNames.has(nameOf(batch))) return;
  const slot = slotOf(member, batch);
  const fetched = toFetched(batch, member.generation, slot);
  slot.nextOffset = Number(batch.lastOffset()) + 1;
  slot.waiting.push(fetched);
  slot.bytes += fetched.bytes;
  resolveOffset(String(batch.lastOffset()));
  void pump(member, slot);
  steer(member);
}

/** Takes batches from a partition's queue, one after the other, until it is empty. */
async function pump(member: Member, slot: Slot): Promise<void> {
  if (slot.pumping) return;
  slot.pumping = true;
  while (slot.waiting.length > 0) {
    slot.begunMs = await member.linger.next(slot.begunMs);
    const fetched = member.halted
      ? undefined
      : takeWaiting(slot, member.options.bytesPerPartitionMax ?? TAKEN_BYTES_MAX);
    if (fetched === undefined) break;
    steer(member);
    const pauseMs = await inTurn(member, slot, () => processBatch(member, slot, fetched));
    slot.bytes -= fetched.bytes;
    steer(member);
    if (pauseMs > 0) await sleep(pauseMs);
  }
  slot.pumping = false;
}

const DRAIN_MS = 12_000;

/** Does one piece of work at a time for each partition; resolves to the milliseconds that the partition then waits. */
async function inTurn({ inWork, options }: Member, slot: Slot, work: () => Promise<number>): Promise<number> {
  const turn = slot.turn.run(work);
  const done = turn.then(
    () => undefined,
    (error: unknown) => options.onFatal(error),
  );
  inWork.add(done);
  await done;
  inWork.delete(done);
  return turn.catch(() => 0);
}

/** Runs a task between two batches, as `Consumption.between` has it. */
export async function betweenBatches(member: Member, at: TopicPartition, task: () => Promise<void>): Promise<void> {
  const slot = slotOf(member, at);
  const taken = member.generation;
  const pauseMs = await inTurn(member, slot, async () => {
    if (member.halted || taken !== member.generation || slot.acquired !== taken) return 0;
    try {
      await task();
    } catch (error) {
      slot.acquired = -1;
      if (taken === member.generation) return recover(member, slot, error);
    }
    return 0;
  });
  if (pauseMs > 0) await sleep(pauseMs);
}

/** Resolves when nothing is in work, or when that takes too long. */
export async function drained({ inWork, options }: Member): Promise<void> {
  const timeout = new AbortController();
  await Promise.race([Promise.all(inWork), sleep(options.drainMs ?? DRAIN_MS, undefined, { signal: timeout.signal })]);
  timeout.abort();
}

/** Before a rebalance: ends what is in work, so that the next owner finds it committed or not begun. */
export async function drainGeneration(member: Member): Promise<void> {
  member.halted = true;
  await drained(member);
  // The client would try it again in the name of the next generation, over what the next owner commits.
  if (member.committer.underWay() > 0) {
    member.options.onFatal(new StageFailedError('a commit outlasts the generation it is of'));
  }
  member.generation++;
}

/** Hands a batch to the handlers. Resolves to the milliseconds to wait before the partition's next batch; never rejects. */
async function processBatch(member: Member, slot: Slot, fetched: Fetched): Promise<number> {
  const { handlers, logger } = member.options;
  if (!isOwned(member, fetched) || fetched.jumps !== slot.jumps) return 0;
  slot.takenOffset = fetched.fetchedOffset;
  try {
    const isAcquired = slot.acquired === member.generation && !fetched.discontinuous;
    if (!isAcquired && !(await acquire(member, slot, fetched))) return 0;
    const leave = await handlers.process(batchOf(member, slot, fetched));
    slot.failures = 0;
    slot.retained.reached(fetched.lastOffset);
    if (leave !== undefined && isOwned(member, fetched)) restUntil(member, slot, leave);
    return 0;
  } catch (error) {
    slot.acquired = -1;
    if (isOwned(member, fetched)) return recover(member, slot, error);
    const { topic, partition } = slot;
    logger.info({ topic, partition, err: error }, 'partition was taken away during a batch');
    return 0;
  }
}

function isOwned({ generation }: Member, fetched: Fetched): boolean {
  return fetched.generation === generation;
}

function batchOf(member: Member, slot: Slot, fetched: Fetched): InBatch {
  const { topic, partition } = slot;
  const { records, lastOffset, endOffset, lag } = fetched;
  const owned = (): boolean => isOwned(member, fetched);
  const stopping = (): boolean => member.halted || !owned() || isSessionOver(member);
  return { topic, partition, records, lastOffset, endOffset, lag, owned, stopping };
}

/** The coordinator may have given the partitions to others. */
function isSessionOver({ heardMs, options }: Member): boolean {
  return performance.now() - heardMs > options.sessionTimeoutMs;
}

/** Acquires the partition. False where this batch is not to be taken: it is not ours any more, or begins elsewhere. */
async function acquire(member: Member, slot: Slot, fetched: Fetched): Promise<boolean> {
  const { options, watchdog } = member;
  const { topic, partition } = slot;
  const committedOffset = await watchdog.watch('acquiring a partition', (progressed) =>
    options.handlers.acquire({ topic, partition }, fetched.generation, progressed),
  );
  const wanted = startOf(slot, fetched, committedOffset);
  if (!isOwned(member, fetched)) return false;
  slot.acquired = member.generation;
  const start = slot.retained.nearest(wanted);
  if (start !== fetched.fetchedOffset) {
    fetchFrom(member, slot, start);
    return false;
  }
  reportSkipped(member, slot, wanted, start);
  return true;
}

/**
 * The offset to read from. While nothing is committed that is where this process began the partition, not where the last
 * batch began: a handler may have taken earlier batches that it has yet to commit.
 */
function startOf(slot: Slot, { fetchedOffset }: Fetched, committedOffset: number | null): number {
  if (committedOffset !== null) return committedOffset;
  if (slot.begunOffset === -1) slot.begunOffset = fetchedOffset;
  return slot.begunOffset;
}

/** Counts offsets that are no longer in the log and may have held a record that nobody has read. */
function reportSkipped({ options }: Member, slot: Slot, wanted: number, start: number): void {
  const { topic, partition, retained } = slot;
  const offsets = retained.takeSkipped(wanted, start);
  if (offsets === 0) return;
  options.logger.warn({ topic, partition, wanted, start, offsets }, 'offsets were deleted before they were read');
  options.onSkipped?.(topic, offsets);
}

const FAILURES_MAX = 12;
/** Waiting for a part that will come back counts no further, so that an error after it does not end the process. */
const FAILURES_WAITING_MAX = 6;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 2_000;

/**
 * After a failure: fetches the last batch again, whose partition is then acquired again and read from its committed offset.
 * Answers how many milliseconds to wait before that.
 */
function recover(member: Member, slot: Slot, error: unknown): number {
  const { logger, onFatal } = member.options;
  const recovery = recoveryOf(error);
  const { topic, partition } = slot;
  if (recovery === 'again' || slot.failures < FAILURES_WAITING_MAX) slot.failures++;
  if (recovery === 'stop' || slot.failures > FAILURES_MAX) {
    onFatal(recovery === 'stop' ? error : new StageFailedError('retries used up', { cause: error }));
    return BACKOFF_MS_MAX;
  }
  const facts = { topic, partition, failures: slot.failures, err: error };
  logger.warn(facts, 'batch failed, trying again from the committed offset');
  fetchFrom(member, slot, slot.takenOffset);
  return Math.min(BACKOFF_MS * 2 ** slot.failures, BACKOFF_MS_MAX);
}

/** Pauses partitions that have enough queued, and resumes the others. */
function steer(member: Member): void {
  const { consumer, slots } = member;
  let held = 0;
  for (const { bytes } of slots.values()) held += bytes;
  for (const slot of slots.values()) {
    const full = isFull(slot, held);
    if (full === slot.paused) continue;
    slot.paused = full;
    const at = partitionsOf(slot);
    tell(member, () => (full ? consumer.pause(at) : consumer.resume(at)));
  }
}

/** Fetches from this offset on. What waits, or was fetched and waits for its turn, is void. */
function fetchFrom(member: Member, slot: Slot, offset: number): void {
  dropWaiting(slot);
  slot.jumps++;
  slot.nextOffset = offset;
  const { topic, partition } = slot;
  tell(member, () => member.consumer.seek({ topic, partition, offset: String(offset) }));
  steer(member);
}

/** Reads nothing of the partition until the time comes, then reads from the offset that was left. */
function restUntil(member: Member, slot: Slot, { offset, notBeforeMs }: Deferral): void {
  fetchFrom(member, slot, offset);
  slot.acquired = -1;
  slot.timer = setTimeout(
    () => {
      slot.timer = null;
      steer(member);
    },
    Math.max(1, notBeforeMs - Date.now()),
  );
  steer(member);
}

/** Ends the rests of all partitions. */
export function wake(member: Member): void {
  for (const slot of member.slots.values()) stopRest(slot);
  steer(member);
}

function stopRest(slot: Slot): void {
  if (slot.timer !== null) clearTimeout(slot.timer);
  slot.timer = null;
}

/** Forgets what was fetched of a partition in the last generation, and what is known of its log. */
export function resetPartition(member: Member, slot: Slot): void {
  dropWaiting(slot);
  stopRest(slot);
  slot.nextOffset = 0;
  slot.begunOffset = -1;
  slot.retained.forgetRange();
  if (slot.paused) tell(member, () => member.consumer.resume(partitionsOf(slot)));
  slot.paused = false;
}

function partitionsOf({ topic, partition }: Slot): { topic: string; partitions: number[] }[] {
  return [{ topic, partitions: [partition] }];
}

/** The client refuses while it starts again; it then begins at the committed offsets, with nothing paused. */
function tell({ options: { logger } }: Member, request: () => void): void {
  try {
    request();
  } catch (error) {
    logger.info({ err: error }, 'the consumer is not running');
  }
}
