import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type PartitionAssigner } from 'kafkajs';

/** What the client keeps for a group it is a member of, as far as it is touched here. */
interface ConsumerGroup {
  assigners: { drain?: () => Promise<void> }[];
  memberId: string | null;
  sessionTimeout: number;
  heartbeat(options: { interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
}

const require = createRequire(import.meta.url);
const BEATS_PER_SESSION = 6;
/** Joinings one after the other that fail with what passes, and the pause between them: about five seconds. */
const JOININGS_MAX = 20;
const JOINING_PAUSE_MS = 250;
let patched = false;

/**
 * The client's own way of giving partitions out, which has `drain` run before each joining of the group: the client
 * offers no moment for that, and a partition that is given away in the middle of a batch has work done twice.
 */
export function drainingAssigner(drain: () => Promise<void>): PartitionAssigner {
  drainBeforeJoining();
  return (config) => Object.assign(kafkajs.PartitionAssigners.roundRobin(config), { drain });
}

function drainBeforeJoining(): void {
  if (patched) return;
  patched = true;
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: ConsumerGroup };
  const { joinAndSync } = prototype;
  prototype.joinAndSync = async function (this: ConsumerGroup) {
    for (const { drain } of this.assigners) if (drain !== undefined) await whileBeating(this, drain);
    await joinPatiently(() => joinAndSync.call(this));
  };
}

/** The client crashes on it, and begins anew where the cause is one that passes. */
class JoiningFailedError extends Error {
  readonly retriable = false;

  constructor(cause: Error) {
    super(`the group could not be joined: ${cause.message}`, { cause });
  }
}

/**
 * A joining that failed, say as its coordinator was only just loading, is given up by the client (kafkajs 2.2.4): it
 * fetches on in the generation of before, for which everything was ended here. So it is tried again, and if it still fails
 * the consumer crashes, which has it begin anew.
 */
async function joinPatiently(join: () => Promise<void>): Promise<void> {
  for (let joinings = 1; ; joinings++) {
    try {
      await join();
      return;
    } catch (error) {
      if (!(error instanceof Error) || (error as Error & { retriable?: unknown }).retriable === false) throw error;
      if (joinings === JOININGS_MAX) throw new JoiningFailedError(error);
    }
    await sleep(JOINING_PAUSE_MS);
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
