import { setTimeout as sleep } from 'node:timers/promises';
import { StageFailedError } from '#infra/errors.ts';
import { type Member, slotOf } from './member.ts';
import type { Slot, TopicPartition } from './partition_state.ts';
import { recover } from './recover.ts';

const DRAIN_MS = 12_000;

/** Does one piece of work at a time for each partition; resolves to the milliseconds that the partition then waits. */
export async function inTurn({ inWork, options }: Member, slot: Slot, work: () => Promise<number>): Promise<number> {
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
