import type { Consumer } from 'kafkajs';
import type { Watchdog } from '#infra/concurrency/watchdog.ts';
import type { Committer } from './committer.ts';
import type { ConsumeOptions } from './consume_options.ts';
import type { Linger } from './linger.ts';
import { createSlot, nameOf, type Slot, type TopicPartition } from './partition_state.ts';

/** The state of a process as a member of its consumer group. The modules beside this one are the steps that change it. */
export interface Member {
  readonly options: ConsumeOptions;
  readonly consumer: Consumer;
  readonly committer: Committer;
  readonly linger: Linger;
  readonly watchdog: Watchdog;
  /** Every partition that was ever assigned, by name. */
  readonly slots: Map<string, Slot>;
  /** Work that runs now, of all partitions. */
  readonly inWork: Set<Promise<void>>;
  /** Another after every assignment, and after every giving away. */
  generation: number;
  /** Nothing new is begun: partitions are about to be given away, or the consumer stops. */
  halted: boolean;
  stopped: boolean;
  /** Leaves a group that is being joined; null until the client first joins. */
  leaveJoining: (() => Promise<void>) | null;
  assignment: TopicPartition[];
  assignedNames: ReadonlySet<string>;
  /** When the coordinator last confirmed this process as a member, by the monotonic clock. */
  heardMs: number;
}

/** The state of a partition, made where there is none yet. */
export function slotOf({ slots }: Member, at: TopicPartition): Slot {
  const name = nameOf(at);
  let slot = slots.get(name);
  if (slot === undefined) {
    slot = createSlot(at);
    slots.set(name, slot);
  }
  return slot;
}
