import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartitionAssigner } from 'kafkajs';
import { type JoiningGroup, leaveWhileJoining, recordMemberIds } from './leave_while_joining.ts';

/** The client's state as a member of a group, as far as it is used here. */
interface ConsumerGroup extends JoiningGroup {
  assigners: Partial<Draining>[];
  sessionTimeout: number;
  heartbeat(options: { interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
}

export interface Draining {
  /** Called before each join of the group. */
  drain(): Promise<void>;
  /** Whether the consumer is being stopped: a join that fails is then not tried again. */
  isOver(): boolean;
  /** Called with a function that ends the join under way, and with null when the join has ended. */
  joining(leave: (() => Promise<void>) | null): void;
}

const require = createRequire(import.meta.url);
const BEATS_PER_SESSION = 6;
/** How long a join is tried again after errors that pass, and the pause between two tries. */
const JOINING_MS_MAX = 5_000;
const JOINING_PAUSE_MS = 250;
let patched = false;

/**
 * A partition assigner that has `drain` called before each join of the group. The client has no hook for that, and the
 * batch of a partition that is given away in the middle of it is processed twice.
 */
export function drainingAssigner(assigner: PartitionAssigner, draining: Draining): PartitionAssigner {
  drainBeforeJoining();
  recordMemberIds();
  return (config) => {
    const made = assigner(config);
    const { protocol } = made;
    return Object.assign(made, draining, {
      protocol(subscription: Parameters<typeof protocol>[0]) {
        if (draining.isOver()) throw new JoiningFailedError('the consumer is being stopped');
        return protocol.call(made, subscription);
      },
    });
  };
}

function drainBeforeJoining(): void {
  if (patched) return;
  patched = true;
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: ConsumerGroup };
  const { joinAndSync } = prototype;
  prototype.joinAndSync = async function (this: ConsumerGroup) {
    const [draining] = this.assigners.filter((one): one is Draining => one.drain !== undefined);
    if (draining === undefined) return joinAndSync.call(this);
    await whileBeating(this, draining.drain);
    draining.joining(() => leaveWhileJoining(this));
    try {
      await joinPatiently(() => joinAndSync.call(this), draining.isOver);
    } finally {
      draining.joining(null);
    }
  };
}

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
