// Corrections of kafkajs 2.2.4's consumer groups; each function says what goes wrong without it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { PartitionAssigner } from 'kafkajs';
import type { TopicPartition } from '../consumer/partition_state.ts';
import { internal, once } from './client_patches.ts';

interface Connection {
  send(protocol: unknown): Promise<unknown>;
  rejectRequests(error: Error): void;
}

interface ConnectionPool {
  pool: Connection[];
  getConnection(index: number): Promise<Connection>;
  send(this: ConnectionPool, protocol: unknown): Promise<unknown>;
}

/** The client's state as a member of a group, as far as it is used here. */
interface ConsumerGroup {
  groupId: string;
  memberId: string | null;
  sessionTimeout: number;
  assigners: Partial<GroupListener>[];
  coordinator: {
    connectionPool: ConnectionPool;
    lookupRequest(apiKey: number, definition: unknown): (of: { groupId: string; memberId: string }) => unknown;
  } | null;
  cluster: {
    fetchTopicsOffset(
      of: { topic: string; partitions: { partition: number }[]; fromBeginning: boolean }[],
    ): Promise<{ partitions: { partition: number; offset: string }[] }[]>;
  };
  offsetManager: {
    nextOffset(topic: string, partition: number): { toString(): string };
    resolveOffset(at: TopicPartition & { offset: string }): void;
  };
  preferredReadReplicasPerTopicPartition: Record<string, Record<number, unknown>>;
  heartbeat(options: { interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
  recoverFromOffsetOutOfRange(error: TopicPartition): Promise<void>;
}

const { prototype: groupPrototype } = internal<{ prototype: ConsumerGroup }>('consumer/consumerGroup.js');
const { prototype: poolPrototype } = internal<{ prototype: ConnectionPool }>('network/connectionPool.js');
const { LeaveGroup: LEAVE_GROUP } = internal<{ LeaveGroup: number }>('protocol/requests/apiKeys.js');
const { requests } = internal<{ requests: { LeaveGroup: unknown } }>('protocol/requests/index.js');

/** An offset that a fetch asked for, and the range of the log that it is not in. */
export interface OutOfRange extends TopicPartition {
  asked: number;
  start: number;
  end: number;
}

interface OutOfRangeListener {
  /** The client goes on at the nearer end of the log. */
  outOfRange(found: OutOfRange): void;
}

export interface GroupListener extends OutOfRangeListener {
  drain(): Promise<void>;
  /** Whether the consumer is being stopped: a join that fails is then not tried again. */
  isOver(): boolean;
  /** Called with a function that ends the join under way, and with null when the join has ended. */
  joining(leave: (() => Promise<void>) | null): void;
}

const BEATS_PER_SESSION = 6;
/** How long a join is tried again after errors that pass, and the pause between two tries. */
const JOINING_MS_MAX = 5_000;
const JOINING_PAUSE_MS = 250;

/** A partition assigner whose consumer reports which offsets the broker does not have. */
export function reportingAssigner(assigner: PartitionAssigner, { outOfRange }: OutOfRangeListener): PartitionAssigner {
  return (config) => Object.assign(assigner(config), { outOfRange });
}

/**
 * One that reports, and has `drain` called before each join of the group. The client has no hook for that, and the
 * batch of a partition that is given away in the middle of it is processed twice.
 */
export function drainingAssigner(assigner: PartitionAssigner, listener: GroupListener): PartitionAssigner {
  drainBeforeJoining();
  recordMemberIds();
  return (config) => {
    const made = assigner(config);
    const { protocol } = made;
    return Object.assign(made, listener, {
      protocol(subscription: Parameters<typeof protocol>[0]) {
        if (listener.isOver()) throw new JoiningFailedError('the consumer is being stopped');
        return protocol.call(made, subscription);
      },
    });
  };
}

const drainBeforeJoining = once(() => {
  const { joinAndSync } = groupPrototype;
  groupPrototype.joinAndSync = async function () {
    const [listener] = this.assigners.filter((one): one is GroupListener => one.drain !== undefined);
    if (listener === undefined) return joinAndSync.call(this);
    await whileBeating(this, listener.drain);
    listener.joining(() => leaveWhileJoining(this));
    try {
      await joinPatiently(() => joinAndSync.call(this), listener.isOver);
    } finally {
      listener.joining(null);
    }
  };
});

/** The client's consumer crashes on it, and starts again if the cause is one that passes. */
class JoiningFailedError extends Error {
  readonly retriable = false;

  constructor(cause: unknown) {
    super(`the group could not be joined: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * After a join that failed, for example because the coordinator was still loading, kafkajs 2.2.4 does not try again: it
 * goes on fetching in the previous generation, whose work was drained here. So the join is tried again for a while; if it
 * still fails the consumer crashes, and starts again.
 */
async function joinPatiently(join: () => Promise<void>, isOver: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + JOINING_MS_MAX;
  for (;;) {
    try {
      await join();
      return;
    } catch (error) {
      const { retriable } = error as { retriable?: unknown };
      if (retriable === false || isOver()) throw error;
      if (retriable !== true || performance.now() > deadlineMs) throw new JoiningFailedError(error);
      await sleep(JOINING_PAUSE_MS);
      if (isOver()) throw error;
    }
  }
}

/** A member that has yet to join stays in the group for as long as it sends heartbeats. */
async function whileBeating(group: ConsumerGroup, task: () => Promise<void>): Promise<void> {
  const beat = (): void => {
    // The answer says at least that the group rebalances, which is known; anything worse shows at the join.
    if (group.memberId !== null) group.heartbeat({ interval: 0 }).catch(() => undefined);
  };
  const timer = setInterval(beat, group.sessionTimeout / BEATS_PER_SESSION);
  try {
    await task();
  } finally {
    clearInterval(timer);
  }
}

/** The client fetches from a broker over a connection of its own; the other one is blocked by the join. */
const FETCHING = 1;
const JOINING = 0;

/** The member ids that brokers have given to joining consumers; the client does not show them before the join ends. */
const given = new WeakMap<ConnectionPool, string>();

/** Records the ids that brokers give to members. */
const recordMemberIds = once(() => {
  const { send } = poolPrototype;
  poolPrototype.send = async function (protocol) {
    try {
      return await send.call(this, protocol);
    } catch (error) {
      const { name, memberId } = error as { name?: unknown; memberId?: unknown };
      if (name === 'KafkaJSMemberIdRequired' && typeof memberId === 'string') given.set(this, memberId);
      throw error;
    }
  };
});

/**
 * Ends a join that waits for other members, who may take until the end of the rebalance. It leaves the group, so that the
 * coordinator answers the join, and the others do not wait for this member. If that request fails the join ends all the
 * same, and the coordinator removes the member when its session times out.
 */
async function leaveWhileJoining({ groupId, memberId: known, coordinator }: ConsumerGroup): Promise<void> {
  if (coordinator === null) return;
  const { connectionPool } = coordinator;
  const memberId = known ?? given.get(connectionPool);
  try {
    if (memberId === undefined) throw new Error('the member has no id yet');
    const connection = await connectionPool.getConnection(FETCHING);
    await connection.send(coordinator.lookupRequest(LEAVE_GROUP, requests.LeaveGroup)({ groupId, memberId }));
  } catch (error) {
    connectionPool.pool[JOINING]?.rejectRequests(error as Error);
  }
}

/**
 * Makes the client go on at the nearer end of a partition's log when it fetches from an offset that is not in it. Without
 * this it commits an offset that means the beginning, over the group's committed offset and its metadata, even if the log
 * was truncated and everything in it has been read.
 */
export const patchOutOfRange = once(() => {
  groupPrototype.recoverFromOffsetOutOfRange = async function ({ topic, partition }) {
    const replicas = this.preferredReadReplicasPerTopicPartition[topic];
    if (replicas?.[partition] !== undefined) {
      // A follower may be behind: the leader is asked next.
      delete replicas[partition];
      return;
    }
    const ask = async (fromBeginning: boolean): Promise<number> => {
      const [found] = await this.cluster.fetchTopicsOffset([{ topic, partitions: [{ partition }], fromBeginning }]);
      return Number(found?.partitions[0]?.offset);
    };
    const asked = Number(this.offsetManager.nextOffset(topic, partition));
    const [start, end] = [await ask(true), await ask(false)];
    if (asked >= start && asked <= end) return;
    const nearest = asked < start ? start : end;
    for (const assigner of this.assigners) assigner.outOfRange?.({ topic, partition, asked, start, end });
    this.offsetManager.resolveOffset({ topic, partition, offset: String(nearest - 1) });
  };
});
