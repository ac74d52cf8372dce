import type { ConsumerRunConfig } from 'kafkajs';
import { commitOffsets } from './commit_offsets.ts';
import type { ConsumeOptions } from './consume_options.ts';
import type { Consumption } from './consumption.ts';
import { wake } from './flow_control.ts';
import type { Member } from './member.ts';
import { createMember, followGroup } from './membership.ts';
import { betweenBatches, drained } from './partition_turn.ts';
import { queueFetched } from './queue_fetched.ts';
import { type ConsumerRun, runConsumer } from './run_consumer.ts';
import { watchForStall } from './stall_watchdog.ts';

/**
 * Reads topics as a member of a group, handing each partition's batches to the handlers one after the other.
 *
 * The client fetches from a broker again only when all that the last fetch brought is done, so that one slow partition
 * would hold up every other. So what is fetched is only queued here, in a bounded queue for each partition; a partition
 * whose queue is full is paused. Before partitions are given away, running work is waited for.
 */
export async function consume(options: ConsumeOptions): Promise<Consumption> {
  const member = createMember(options);
  const { consumer } = member;
  followGroup(member);
  await consumer.connect();
  await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
  const stopWatch = watchForStall(consumer, options.onFatal, () => member.halted);
  const run = await runConsumer(consumer, runConfigOf(member), (error) => options.onFatal(error));
  return {
    between: (at, task) => betweenBatches(member, at, task),
    commit: (at, offset, metadata) => commitOffsets(member, [{ ...at, offset, metadata }]),
    commitAll: (offsets) => commitOffsets(member, offsets),
    assigned: () => member.assignment,
    wake: () => wake(member),
    async stop() {
      await stopMember(member, run, stopWatch);
    },
  };
}

function runConfigOf(member: Member): ConsumerRunConfig {
  return {
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: member.options.concurrency,
    eachBatch: (payload) => queueFetched(member, payload),
  };
}

async function stopMember(member: Member, run: ConsumerRun, stopWatch: () => void): Promise<void> {
  member.stopped = true;
  member.halted = true;
  await drained(member);
  for (const { timer } of member.slots.values()) if (timer !== null) clearTimeout(timer);
  stopWatch();
  await Promise.all([run.stop(), member.leaveJoining?.()]);
}
