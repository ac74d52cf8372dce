// A consumer as a member of its group: joins, queues what is fetched, gives partitions away, commits and stops.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerGroupJoinEvent, ConsumerRunConfig, ConsumerStartBatchProcessEvent } from 'kafkajs';
import { createWatchdog, monotonicMs, WATCHDOG_MS } from '#infra/concurrency/time_limits.ts';
import type { OutOfRange } from '../kafkajs_patches/group_patches.ts';
import type { ConsumeOptions, Consumption } from './consumption.ts';
import { type ConsumerRun, createGroupConsumer, runConsumer, watchForStall } from './group_consumer.ts';
import { commitOffsets, createCommitter, createLinger, type Member, slotOf } from './member.ts';
import { nameOf } from './partition_state.ts';
import { betweenBatches, drained, drainGeneration, queueFetched, resetPartition, wake } from './partition_turns.ts';

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

/** A member that has joined nothing yet. */
function createMember(options: ConsumeOptions): Member {
  const consumer = createGroupConsumer(options, {
    drain: () => drainGeneration(member),
    isOver: () => member.stopped,
    joining(leave) {
      member.leaveJoining = leave;
    },
    outOfRange: (found) => onOutOfRange(member, found),
  });
  const member: Member = {
    options,
    consumer,
    committer: createCommitter(consumer),
    linger: createLinger(options.lingerMs ?? 0, monotonicMs, sleep),
    watchdog: createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal }),
    slots: new Map(),
    inWork: new Set(),
    generation: 0,
    halted: false,
    stopped: false,
    leaveJoining: null,
    assignment: [],
    assignedNames: new Set(),
    heardMs: performance.now(),
  };
  return member;
}

/** Keeps the member's state by what the client tells of its group. */
function followGroup(member: Member): void {
  const { consumer } = member;
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => onJoined(member, payload));
  consumer.on(consumer.events.HEARTBEAT, () => {
    member.heardMs = performance.now();
  });
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => onBatchStart(member, payload));
}

function onJoined(member: Member, { memberAssignment }: ConsumerGroupJoinEvent['payload']): void {
  member.generation++;
  member.halted = member.stopped;
  member.heardMs = performance.now();
  for (const slot of member.slots.values()) resetPartition(member, slot);
  member.assignment = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
  member.assignedNames = new Set(member.assignment.map(nameOf));
  const { logger, groupId } = member.options;
  logger.info({ group: groupId, partitions: member.assignment.length }, 'joined the group');
}

/** Only here does the client tell of records that it does not hand over, such as transaction markers. */
function onBatchStart(member: Member, payload: ConsumerStartBatchProcessEvent['payload']): void {
  if (payload.batchSize > 0 || !member.assignedNames.has(nameOf(payload))) return;
  const slot = slotOf(member, payload);
  const end = Number(payload.lastOffset) + 1;
  slot.nextOffset = Math.max(slot.nextOffset, end);
  if (payload.firstOffset === null) return;
  slot.retained.holdsNothing(Number(payload.firstOffset), end);
  member.options.onEmpty?.(slot, Number(payload.firstOffset), end);
}

function onOutOfRange(member: Member, { asked, start, end, ...at }: OutOfRange): void {
  const { logger, onEmpty } = member.options;
  logger.warn({ ...at, asked, start, end }, 'the partition does not have the offset, going on at what it has');
  slotOf(member, at).retained.outOfRange(asked, start, end);
  if (asked < start) onEmpty?.(at, asked, start);
}
