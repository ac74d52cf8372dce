import type { Leave } from './in_batch.ts';
import type { Member } from './member.ts';
import { dropWaiting, isFull, type Slot } from './partition_state.ts';

/** Pauses partitions that have enough queued, and resumes the others. */
export function steer(member: Member): void {
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
export function fetchFrom(member: Member, slot: Slot, offset: number): void {
  dropWaiting(slot);
  slot.jumps++;
  slot.nextOffset = offset;
  const { topic, partition } = slot;
  tell(member, () => member.consumer.seek({ topic, partition, offset: String(offset) }));
  steer(member);
}

/** Reads nothing of the partition until the time comes, then reads from the offset that was left. */
export function restUntil(member: Member, slot: Slot, { offset, notBeforeMs }: Leave): void {
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
