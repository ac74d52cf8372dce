import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartitionAssigner } from 'kafkajs';
import { type JoiningGroup, leaveWhileJoining, rememberMemberIds } from './leave_while_joining.ts';

/** What the client keeps for a group it is a member of, as far as it is touched here. */
interface ConsumerGroup extends JoiningGroup {
  assigners: Partial<Draining>[];
  sessionTimeout: number;
  heartbeat(options: { interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
}

export interface Draining {
  /** Runs before each joining of the group. */
  drain(): Promise<void>;
  /** Whether the consumer is being stopped, so that a group that cannot be joined is left at that. */
  isOver(): boolean;
  /** Given how a joining that is under way can be ended, and null when it has ended. */
  joining(leave: (() => Promise<void>) | null): void;
}

const require = createRequire(import.meta.url);
const BEATS_PER_SESSION = 6;
/** How long a joining that fails with what passes is tried again, and the pause between two tries. */
const JOINING_MS_MAX = 5_000;
const JOINING_PAUSE_MS = 250;
let patched = false;

/**
 * A way of giving partitions out, which has `drain` run before each joining of the group: the client offers no moment for
 * that, and a partition that is given away in the middle of a batch has work done twice.
 */
export function drainingAssigner(assigner: PartitionAssigner, draining: Draining): PartitionAssigner {
  drainBeforeJoining();
  rememberMemberIds();
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

/** The client crashes on it, and begins anew where the cause is one that passes. */
class JoiningFailedError extends Error {
  readonly retriable = false;

  constructor(cause: unknown) {
    super(`the group could not be joined: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * A joining that failed, say as its coordinator was only just loading, is given up by the client (kafkajs 2.2.4): it
 * fetches on in the generation of before, for which everything was ended here. So it is tried again for a while, and if it
 * still fails the consumer crashes, which has it begin anew.
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

/** The group goes on counting a member as there that has yet to join, as long as it beats. */
async function whileBeating(group: ConsumerGroup, task: () => Promise<void>): Promise<void> {
  const beat = (): void => {
    // That the group rebalances is known; anything worse shows when it is joined.
    if (group.memberId !== null) group.heartbeat({ interval: 0 }).catch(() => undefined);
  };
  const timer = setInterval(beat, group.sessionTimeout / BEATS_PER_SESSION);
  try {
    await task();
  } finally {
    clearInterval(timer);
  }
}
