// A consumer as a member of its group: joins, queues what is fetched, works on each partition in turn, commits, gives
// partitions away and stops.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, ConsumerGroupJoinEvent, ConsumerStartBatchProcessEvent, EachBatchPayload } from 'kafkajs';
import { createWatchdog, monotonicMs, WATCHDOG_MS, type Watchdog } from '#infra/concurrency/time_limits.ts';
import { PartitionLostError, recoveryOf, StageFailedError } from '#infra/errors.ts';
import type { OutOfRange } from '../kafkajs_patches/group_patches.ts';
import type { ConsumeOptions, Consumption, Deferral, InBatch, OffsetCommit } from './consumption.ts';
import { type Committer, createCommitter, createGroupConsumer, runConsumer, watchForStall } from './group_consumer.ts';
import type { PartitionProgress } from './lag_watch.ts';
import {
  createSlot,
  dropWaiting,
  type Fetched,
  isFull,
  nameOf,
  type Slot,
  TAKEN_BYTES_MAX,
  type TopicPartition,
  takeWaiting,
  toFetched,
} from './partition_state.ts';

/** Moments at which partitions begin batches, those of a process at the same moments. */
export type Linger = ReturnType<typeof createLinger>;

/** For this share of `lingerMs` a moment still lasts: partitions that one fetch brought do not ask at the very same time. */
const MOMENT_LASTS = 0.2;

/**
 * A moment is not bound to the clock: it comes when the first partition has something, if `lingerMs` have passed. So a stage
 * takes what another one passes on at such moments as soon as it is there.
 */
export function createLinger(lingerMs: number, nowMs: () => number, sleep: (ms: number) => Promise<unknown>) {
  let momentMs = Number.NEGATIVE_INFINITY;
  let following: Promise<unknown> | null = null;
  const isPast = (begunMs: number): boolean => begunMs === momentMs || nowMs() > momentMs + MOMENT_LASTS * lingerMs;
  const left = (): number => momentMs + lingerMs - nowMs();

  return {
    /**
     * Resolves at a moment other than `begunMs`, the last one at which the partition began a batch, and answers it. Two
     * moments are at least `lingerMs` apart; the first one asked for after that time is there at once.
     */
    async next(begunMs: number): Promise<number> {
      // Once for both, as the time may come between two looks at the clock.
      for (let leftMs = left(); leftMs > 0 && isPast(begunMs); leftMs = left()) {
        following ??= sleep(leftMs).finally(() => {
          following = null;
        });
        await following;
      }
      if (nowMs() >= momentMs + lingerMs) momentMs = nowMs();
      return momentMs;
    },
  };
}

/**
 * Reads topics as a member of a group, handing each partition's batches to the handlers one after the other.
 *
 * The client fetches from a broker again only when all that the last fetch brought is done, so that one slow partition
 * would hold up every other. So what is fetched is only queued here, in a bounded queue for each partition; a partition
 * whose queue is full is paused. Before partitions are given away, running work is waited for.
 */
export async function consume(options: ConsumeOptions): Promise<Consumption> {
  const member = new GroupMember(options);
  const stop = await member.start();
  return {
    between: (at, task) => member.between(at, task),
    commit: (at, offset, metadata) => member.commit([{ ...at, offset, metadata }]),
    commitAll: (offsets) => member.commit(offsets),
    assigned: () => member.assignment,
    isMember: () => !member.isSessionOver(),
    progress: () => member.progress(),
    wake: () => member.wake(),
    stop,
  };
}

const DRAIN_MS = 12_000;
const FAILURES_MAX = 12;
/** Waiting for a part that will come back counts no further, so that an error after it does not end the process. */
const FAILURES_WAITING_MAX = 6;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 2_000;

class GroupMember {
  assignment: TopicPartition[] = [];
  private readonly options: ConsumeOptions;
  private readonly consumer: Consumer;
  private readonly committer: Committer;
  private readonly linger: Linger;
  private readonly watchdog: Watchdog;
  /** Every partition that was ever assigned, by name. */
  private readonly slots = new Map<string, Slot>();
  private readonly inWork = new Set<Promise<void>>();
  private assignedNames: ReadonlySet<string> = new Set();
  /** Another after every assignment, and after every giving away. */
  private generation = 0;
  /** Nothing new is begun: partitions are about to be given away, or the consumer stops. */
  private halted = false;
  private stopped = false;
  private leaveJoining: (() => Promise<void>) | null = null;
  /** When the coordinator last confirmed this process as a member. */
  private heardMs = monotonicMs();

  constructor(options: ConsumeOptions) {
    this.options = options;
    this.consumer = createGroupConsumer(options, {
      drain: () => this.drainGeneration(),
      isOver: () => this.stopped,
      joining: (leave) => {
        this.leaveJoining = leave;
      },
      outOfRange: (found) => this.onOutOfRange(found),
    });
    this.committer = createCommitter(this.consumer);
    this.linger = createLinger(options.lingerMs ?? 0, monotonicMs, sleep);
    this.watchdog = createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal });
    const { events } = this.consumer;
    this.consumer.on(events.GROUP_JOIN, ({ payload }) => this.onJoined(payload));
    this.consumer.on(events.HEARTBEAT, () => {
      this.heardMs = monotonicMs();
    });
    this.consumer.on(events.START_BATCH_PROCESS, ({ payload }) => this.onBatchStart(payload));
  }

  /** Resolves to what ends the membership. */
  async start(): Promise<() => Promise<void>> {
    const { consumer, options } = this;
    await consumer.connect();
    await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
    const stopWatch = watchForStall(consumer, options.onFatal, () => this.halted);
    const config = {
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: options.concurrency,
      eachBatch: (payload: EachBatchPayload) => this.queueFetched(payload),
    };
    const stopRun = await runConsumer(consumer, config, (error) => options.onFatal(error));
    return async () => {
      this.stopped = true;
      this.halted = true;
      await this.drained();
      for (const slot of this.slots.values()) stopRest(slot);
      stopWatch();
      await Promise.all([stopRun(), this.leaveJoining?.()]);
    };
  }

  async between(at: TopicPartition, task: () => Promise<void>): Promise<void> {
    const slot = this.slotOf(at);
    const taken = this.generation;
    const pauseMs = await this.inTurn(slot, async () => {
      if (this.halted || taken !== this.generation || slot.acquired !== taken) return 0;
      try {
        await task();
      } catch (error) {
        slot.acquired = -1;
        if (taken === this.generation) return this.recover(slot, error);
      }
      return 0;
    });
    if (pauseMs > 0) await sleep(pauseMs);
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.some((at) => this.slotOf(at).acquired !== this.generation)) {
      throw new PartitionLostError('partition lost before its commit');
    }
    await this.watchdog.watch('a commit', () =>
      this.committer.commit(offsets.map(({ offset, ...at }) => ({ ...at, offset: String(offset) }))),
    );
  }

  progress(): PartitionProgress[] {
    if (this.halted) return [];
    return this.assignment.map((at) => {
      const { topic, partition, nextOffset, steps, waiting, working, timer } = this.slotOf(at);
      return { topic, partition, nextOffset, steps, isBusy: waiting.length > 0 || working, rests: timer !== null };
    });
  }

  wake(): void {
    for (const slot of this.slots.values()) stopRest(slot);
    this.steer();
  }

  /** The coordinator may have given the partitions to others by then. */
  isSessionOver(): boolean {
    return monotonicMs() - this.heardMs > this.options.sessionTimeoutMs;
  }

  private onJoined({ memberAssignment }: ConsumerGroupJoinEvent['payload']): void {
    this.generation++;
    this.halted = this.stopped;
    this.heardMs = monotonicMs();
    for (const slot of this.slots.values()) this.reset(slot);
    this.assignment = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    this.assignedNames = new Set(this.assignment.map(nameOf));
    const facts = { group: this.options.groupId, partitions: this.assignment.length };
    this.options.logger.info(facts, 'joined the group');
  }

  /** Only here does the client tell of records that it does not hand over, such as transaction markers. */
  private onBatchStart(payload: ConsumerStartBatchProcessEvent['payload']): void {
    if (payload.batchSize > 0 || !this.assignedNames.has(nameOf(payload))) return;
    const slot = this.slotOf(payload);
    const end = Number(payload.lastOffset) + 1;
    slot.nextOffset = Math.max(slot.nextOffset, end);
    if (payload.firstOffset === null) return;
    slot.retained.holdsNothing(Number(payload.firstOffset), end);
    this.options.onEmpty?.(slot, Number(payload.firstOffset), end);
  }

  private onOutOfRange({ asked, start, end, ...at }: OutOfRange): void {
    const { logger, onEmpty } = this.options;
    logger.warn({ ...at, asked, start, end }, 'offset out of range, continuing at the nearest one');
    this.slotOf(at).retained.outOfRange(asked, start, end);
    if (asked < start) onEmpty?.(at, asked, start);
  }

  private slotOf(at: TopicPartition): Slot {
    const slot = this.slots.get(nameOf(at)) ?? createSlot(at);
    this.slots.set(nameOf(at), slot);
    return slot;
  }

  /** Queues what a fetch brought, and sees that somebody takes from the queue. Never waits for the work. */
  private async queueFetched({ batch, isRunning, isStale, resolveOffset }: EachBatchPayload): Promise<void> {
    // A fetch from one broker may come back after the group was joined again through another: to take what is somebody
    // else's by now would fence its owner.
    if (this.halted || !isRunning() || isStale() || !this.assignedNames.has(nameOf(batch))) return;
    const slot = this.slotOf(batch);
    const fetched = toFetched(batch, this.generation, slot);
    slot.nextOffset = Number(batch.lastOffset()) + 1;
    slot.waiting.push(fetched);
    slot.bytes += fetched.bytes;
    resolveOffset(String(batch.lastOffset()));
    void this.pump(slot);
    this.steer();
  }

  /** Takes batches from a partition's queue, one after the other, until it is empty. */
  private async pump(slot: Slot): Promise<void> {
    if (slot.pumping) return;
    slot.pumping = true;
    while (slot.waiting.length > 0) {
      slot.begunMs = await this.linger.next(slot.begunMs);
      const bytesMax = this.options.batchBytesMax ?? this.options.bytesPerPartitionMax ?? TAKEN_BYTES_MAX;
      const fetched = this.halted ? undefined : takeWaiting(slot, bytesMax);
      if (fetched === undefined) break;
      this.steer();
      const pauseMs = await this.inTurn(slot, () => this.processBatch(slot, fetched));
      slot.bytes -= fetched.bytes;
      this.steer();
      if (pauseMs > 0) await sleep(pauseMs);
    }
    slot.pumping = false;
  }

  /** Does one piece of work at a time for each partition; resolves to the milliseconds that the partition then waits. */
  private async inTurn(slot: Slot, work: () => Promise<number>): Promise<number> {
    const turn = slot.turn.run(async () => {
      slot.working = true;
      try {
        return await work();
      } finally {
        slot.working = false;
        slot.steps++;
      }
    });
    const done = turn.then(
      () => undefined,
      (error: unknown) => this.options.onFatal(error),
    );
    this.inWork.add(done);
    await done;
    this.inWork.delete(done);
    return turn.catch(() => 0);
  }

  /** Resolves when nothing is in work, or when that takes too long. */
  private async drained(): Promise<void> {
    const timeout = new AbortController();
    const late = sleep(this.options.drainMs ?? DRAIN_MS, undefined, { signal: timeout.signal });
    await Promise.race([Promise.all(this.inWork), late]);
    timeout.abort();
  }

  /** Before a rebalance: ends what is in work, so that the next owner finds it committed or not begun. */
  private async drainGeneration(): Promise<void> {
    this.halted = true;
    await this.drained();
    // The client would try it again in the name of the next generation, over what the next owner commits.
    if (this.committer.underWay() > 0) {
      this.options.onFatal(new StageFailedError('a commit outlasts the generation it is of'));
    }
    this.generation++;
  }

  /** Hands a batch to the handlers. Resolves to the milliseconds to wait before the partition's next batch; never rejects. */
  private async processBatch(slot: Slot, fetched: Fetched): Promise<number> {
    const { handlers, logger } = this.options;
    if (!this.isOwned(fetched) || fetched.jumps !== slot.jumps) return 0;
    slot.takenOffset = fetched.fetchedOffset;
    try {
      const isAcquired = slot.acquired === this.generation && !fetched.discontinuous;
      if (!isAcquired && !(await this.acquire(slot, fetched))) return 0;
      const leave = await handlers.process(this.batchOf(slot, fetched));
      slot.failures = 0;
      slot.retained.reached(fetched.lastOffset);
      if (leave !== undefined && this.isOwned(fetched)) this.restUntil(slot, leave);
      return 0;
    } catch (error) {
      slot.acquired = -1;
      if (this.isOwned(fetched)) return this.recover(slot, error);
      const { topic, partition } = slot;
      logger.info({ topic, partition, err: error }, 'partition was taken away during a batch');
      return 0;
    }
  }

  private isOwned({ generation }: Fetched): boolean {
    return generation === this.generation;
  }

  private batchOf(slot: Slot, fetched: Fetched): InBatch {
    const { topic, partition } = slot;
    const { records, lastOffset, endOffset, lag } = fetched;
    const owned = (): boolean => this.isOwned(fetched);
    const stopping = (): boolean => {
      slot.steps++;
      return this.halted || !owned() || this.isSessionOver();
    };
    return { topic, partition, records, lastOffset, endOffset, lag, owned, stopping };
  }

  /** Acquires the partition. False where this batch is not to be taken: it is not ours any more, or begins elsewhere. */
  private async acquire(slot: Slot, fetched: Fetched): Promise<boolean> {
    const { topic, partition } = slot;
    const committedOffset = await this.watchdog.watch('acquiring a partition', (progressed) =>
      this.options.handlers.acquire({ topic, partition }, fetched.generation, () => {
        slot.steps++;
        progressed();
      }),
    );
    // While nothing is committed that is where this process began the partition, not where the last batch began, as a
    // handler may have taken earlier batches that it has yet to commit.
    if (committedOffset === null && slot.begunOffset === -1) slot.begunOffset = fetched.fetchedOffset;
    const wanted = committedOffset ?? slot.begunOffset;
    if (!this.isOwned(fetched)) return false;
    slot.acquired = this.generation;
    const start = slot.retained.nearest(wanted);
    if (start !== fetched.fetchedOffset) {
      this.fetchFrom(slot, start);
      return false;
    }
    this.reportSkipped(slot, wanted, start);
    return true;
  }

  /** Counts offsets that are no longer in the log and may have held a record that nobody has read. */
  private reportSkipped({ topic, partition, retained }: Slot, wanted: number, start: number): void {
    const offsets = retained.takeSkipped(wanted, start);
    if (offsets === 0) return;
    const facts = { topic, partition, wanted, start, offsets };
    this.options.logger.warn(facts, 'offsets were deleted before they were read');
    this.options.onSkipped?.(topic, offsets);
  }

  /**
   * After a failure: fetches the last batch again, whose partition is then acquired again and read from its committed offset.
   * Answers how many milliseconds to wait before that.
   */
  private recover(slot: Slot, error: unknown): number {
    const { logger, onFatal } = this.options;
    const recovery = recoveryOf(error);
    const { topic, partition } = slot;
    if (recovery === 'again' || slot.failures < FAILURES_WAITING_MAX) slot.failures++;
    if (recovery === 'stop' || slot.failures > FAILURES_MAX) {
      onFatal(recovery === 'stop' ? error : new StageFailedError('retries used up', { cause: error }));
      return BACKOFF_MS_MAX;
    }
    const facts = { topic, partition, failures: slot.failures, err: error };
    logger.warn(facts, 'batch failed, trying again from the committed offset');
    this.fetchFrom(slot, slot.takenOffset);
    return Math.min(BACKOFF_MS * 2 ** slot.failures, BACKOFF_MS_MAX);
  }

  /** Pauses partitions that have enough queued, and resumes the others. */
  private steer(): void {
    const { consumer, slots } = this;
    let held = 0;
    for (const { bytes } of slots.values()) held += bytes;
    for (const slot of slots.values()) {
      const full = isFull(slot, held);
      if (full === slot.paused) continue;
      slot.paused = full;
      this.tell(() => (full ? consumer.pause(partitionsOf(slot)) : consumer.resume(partitionsOf(slot))));
    }
  }

  /** Fetches from this offset on. What waits, or was fetched and waits for its turn, is void. */
  private fetchFrom(slot: Slot, offset: number): void {
    dropWaiting(slot);
    slot.jumps++;
    slot.nextOffset = offset;
    const { topic, partition } = slot;
    this.tell(() => this.consumer.seek({ topic, partition, offset: String(offset) }));
    this.steer();
  }

  /** Reads nothing of the partition until the time comes, then reads from the offset that was left. */
  private restUntil(slot: Slot, { offset, notBeforeMs }: Deferral): void {
    this.fetchFrom(slot, offset);
    slot.acquired = -1;
    const wake = (): void => {
      slot.timer = null;
      this.steer();
    };
    slot.timer = setTimeout(wake, Math.max(1, notBeforeMs - Date.now()));
    this.steer();
  }

  /** Forgets what was fetched of a partition in the last generation, and what is known of its log. */
  private reset(slot: Slot): void {
    dropWaiting(slot);
    stopRest(slot);
    slot.nextOffset = 0;
    slot.begunOffset = -1;
    slot.retained.forgetRange();
    if (slot.paused) this.tell(() => this.consumer.resume(partitionsOf(slot)));
    slot.paused = false;
  }

  /** The client refuses while it starts again; it then begins at the committed offsets, with nothing paused. */
  private tell(request: () => void): void {
    try {
      request();
    } catch (error) {
      this.options.logger.info({ err: error }, 'the consumer is not running');
    }
  }
}

function stopRest(slot: Slot): void {
  if (slot.timer !== null) clearTimeout(slot.timer);
  slot.timer = null;
}

function partitionsOf({ topic, partition }: Slot): { topic: string; partitions: number[] }[] {
  return [{ topic, partitions: [partition] }];
}
