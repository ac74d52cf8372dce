import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload } from 'kafkajs';
import { steer } from './flow_control.ts';
import { toFetched } from './group_consumer.ts';
import { type Member, slotOf } from './member.ts';
import { nameOf, type Slot, TAKEN_BYTES_MAX, takeWaiting } from './partition_state.ts';
import { inTurn } from './partition_turn.ts';
import { processBatch } from './process_batch.ts';

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
