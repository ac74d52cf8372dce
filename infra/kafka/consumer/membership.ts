import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerGroupJoinEvent, ConsumerStartBatchProcessEvent } from 'kafkajs';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import { createWatchdog, WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import type { OutOfRange } from '#infra/kafka/kafkajs_patches/out_of_range.ts';
import { createCommitter } from './committer.ts';
import type { ConsumeOptions } from './consume_options.ts';
import { resetPartition } from './flow_control.ts';
import { createGroupConsumer } from './group_consumer.ts';
import { createLinger } from './linger.ts';
import { type Member, slotOf } from './member.ts';
import { nameOf } from './partition_state.ts';
import { drainGeneration } from './partition_turn.ts';

/** A member that has joined nothing yet. */
export function createMember(options: ConsumeOptions): Member {
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
export function followGroup(member: Member): void {
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
