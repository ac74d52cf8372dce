import { createRequire } from 'node:module';
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
    return joinAndSync.call(this);
  };
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
