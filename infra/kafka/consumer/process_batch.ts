import { fetchFrom, restUntil } from './flow_control.ts';
import type { InBatch } from './in_batch.ts';
import type { Member } from './member.ts';
import type { Fetched, Slot } from './partition_state.ts';
import { recover } from './recover.ts';

/** Hands a batch to the handlers. Resolves to the milliseconds to wait before the partition's next batch; never rejects. */
export async function processBatch(member: Member, slot: Slot, fetched: Fetched): Promise<number> {
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
