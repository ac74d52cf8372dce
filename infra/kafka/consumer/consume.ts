import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload, Kafka } from 'kafkajs';
import { createWatchdog, WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import { PartitionLostError, recoveryOf, StageFailedError } from '#infra/errors.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createCommitter } from './committer.ts';
import { createGroupConsumer, toFetched } from './group_consumer.ts';
import { createPace } from './linger.ts';
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
} from './partition_state.ts';
import { runConsumer } from './run_consumer.ts';
import { watchSilence } from './stall_watchdog.ts';

export type { TopicPartition } from './partition_state.ts';

/** What fetches brought of one partition since it was last taken from. */
export interface InBatch extends TopicPartition {
  records: InRecord[];
  /** Of the last record that was fetched, where `records` may be a part of them. */
  lastOffset: number;
  /** Behind it and the marks of transactions that follow it. */
  endOffset: number;
  /** Records of the partition behind this batch; the marker that ends a transaction is none. */
  lag: number;
  /** False once the partition may belong to somebody else: nothing may be committed then. */
  owned(): boolean;
  /**
   * True once the partition is about to be given away, or may have been: what is not begun is to be left to its next
   * owner, and what is done returned soon, as it can be committed for a short while only.
   */
  stopping(): boolean;
}

/** Records from `offset` on are left for later, not before a time (milliseconds since 1970 UTC). */
export interface Leave {
  offset: number;
  notBeforeMs: number;
}

interface PartitionHandlers {
  /**
   * Called before the first batch of a partition after every assignment and every error, when no earlier batch of it is
   * in flight in this process. `generation` is another after every assignment. Answers the offset to go on from, or null
   * where nothing was ever committed. Work of many steps tells after each that it goes on.
   */
  acquire(partition: TopicPartition, generation: number, progressed: () => void): Promise<number | null>;
  /** Takes a batch. When it resolves the next one comes; commit is the handler's own matter. */
  process(batch: InBatch): Promise<Leave | undefined>;
}

export interface ConsumeOptions {
  kafka: Kafka;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  /** Partitions taken from one fetch side by side; work on them never waits for that of another. */
  concurrency: number;
  /**
   * Of one fetch, compressed, and of what several fetches are taken together for; 1 and 4 MiB where it is not given. What
   * comes within a pace must fit, or as many fetches as may wait stand in line all the time.
   */
  bytesPerPartitionMax?: number;
  /** Bytes that a fetch waits for, a tenth of a second at the longest; 1 where it is not given: whatever is there. */
  fetchBytesMin?: number;
  /** Batches are begun at moments this far apart, in milliseconds, as `Pace` has them: what comes meanwhile is taken together. */
  paceMs?: number;
  /** Partitions of a topic that one member is given together, from a multiple of their number on; 1 where it is not given. */
  partitionsTogether?: number;
  /** Longest that an acquiring or a commit may take before the process ends; 5 minutes where it is not given. */
  watchdogMs?: number;
  /** Longest that what is in work is waited for before partitions are given away, or at the end; 12 s where it is not given. */
  drainMs?: number;
  handlers: PartitionHandlers;
  logger: Logger;
  /** Called when retention has deleted offsets of a topic that were never read, of which some may be marks of transactions. */
  onSkipped?(topic: string, offsets: number): void;
  /** Called when it shows that there is no record to read from an offset up to another: only marks of transactions, or nothing any more. */
  onEmpty?(at: TopicPartition, first: number, end: number): void;
  /** Called once when the process must stop. */
  onFatal(error: unknown): void;
}

/** The offset to commit where these records are done: also behind the marks of transactions that follow the last of them. */
export function endOf({
  records,
  lastOffset,
  endOffset,
}: Pick<InBatch, 'records' | 'lastOffset' | 'endOffset'>): number {
  const last = records.at(-1)?.offset ?? -1;
  return last === lastOffset ? endOffset : last + 1;
}

/** For stages whose work costs by the batch more than by the event: what comes within a quarter of a second goes together. */
export const GATHERING = { fetchBytesMin: 256 * 1024, paceMs: 250 } as const;
/** For a stage behind one that gathers: a little faster, so that it takes what that one passes on at once. */
export const FOLLOWING = { ...GATHERING, paceMs: 200 } as const;

interface OffsetCommit extends TopicPartition {
  offset: number;
  metadata: string;
}

export interface Consumption {
  /**
   * Runs a task between two batches of an acquired partition, with the same care for its errors. Does nothing where
   * the partition is not ours.
   */
  between(partition: TopicPartition, task: () => Promise<void>): Promise<void>;
  /** Commits an offset with metadata. Throws PartitionLostError where the partition may not be ours any more. */
  commit(partition: TopicPartition, offset: number, metadata: string): Promise<void>;
  /**
   * Commits offsets of several partitions in one request, which the coordinator takes as a whole. Throws
   * PartitionLostError where one of them is not ours any more.
   */
  commitAll(offsets: readonly OffsetCommit[]): Promise<void>;
  assigned(): TopicPartition[];
  /** Ends the rests of partitions that wait for a time: what they left is looked at again now. */
  wake(): void;
  stop(): Promise<void>;
}

const FAILURES_MAX = 12;
/** Waiting for what will come back counts no further, so that an error after it does not end the process. */
const FAILURES_WAITING_MAX = 6;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 2_000;
const DRAIN_MS = 12_000;

/**
 * Reads topics as a member of a group, handing each partition's batches to the handlers one after the other.
 *
 * The client fetches from a broker again only when all that the last fetch brought is done, so that one slow partition
 * would hold up every other. So what is fetched only queues up here, a bounded queue for each partition; a partition
 * with enough to do is paused. Before partitions are given away, what is in work is waited for.
 */
export async function consume(options: ConsumeOptions): Promise<Consumption> {
  const { handlers, logger, groupId } = options;
  const bytesMax = options.bytesPerPartitionMax ?? TAKEN_BYTES_MAX;
  const pace = createPace(options.paceMs ?? 0, () => performance.now(), sleep);
  const watchdog = createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal });
  const slots = new Map<string, Slot>();
  const inWork = new Set<Promise<void>>();
  let generation = 0;
  /** Nothing new is begun: partitions are about to be given away, or this is the end. */
  let halted = false;
  let stopped = false;
  let leaveJoining: (() => Promise<void>) | null = null;
  let assignment: TopicPartition[] = [];
  let assignedNames: ReadonlySet<string> = new Set();
  /** When the group was last heard to count this process among its members, by the monotonic clock. */
  let heardMs = performance.now();

  const consumer = createGroupConsumer(options, {
    async drain() {
      halted = true;
      await drained();
      // The client would try it again in the name of the next generation, over what the next owner commits.
      if (committer.underWay() > 0) options.onFatal(new StageFailedError('a commit outlasts the generation it is of'));
      generation++;
    },
    isOver: () => stopped,
    joining(leave) {
      leaveJoining = leave;
    },
    outOfRange({ asked, start, end, ...at }) {
      logger.warn({ ...at, asked, start, end }, 'the partition does not have the offset, going on at what it has');
      slotOf(at).retained.outOfRange(asked, start, end);
      if (asked < start) options.onEmpty?.(at, asked, start);
    },
  });
  const committer = createCommitter(consumer);
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    generation++;
    halted = stopped;
    heardMs = performance.now();
    for (const slot of slots.values()) reset(slot);
    assignment = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    assignedNames = new Set(assignment.map(nameOf));
    logger.info({ group: groupId, partitions: assignment.length }, 'joined the group');
  });
  consumer.on(consumer.events.HEARTBEAT, () => {
    heardMs = performance.now();
  });
  // Of records that are not handed over, such as the marks of transactions, the client tells here only.
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    if (payload.batchSize > 0 || !assignedNames.has(nameOf(payload))) return;
    const slot = slotOf(payload);
    const end = Number(payload.lastOffset) + 1;
    slot.nextOffset = Math.max(slot.nextOffset, end);
    if (payload.firstOffset === null) return;
    slot.retained.holdsNothing(Number(payload.firstOffset), end);
    options.onEmpty?.(slot, Number(payload.firstOffset), end);
  });

  /** Resolves when nothing is in work, or when that takes too long. */
  async function drained(): Promise<void> {
    const timeout = new AbortController();
    await Promise.race([
      Promise.all(inWork),
      sleep(options.drainMs ?? DRAIN_MS, undefined, { signal: timeout.signal }),
    ]);
    timeout.abort();
  }

  function slotOf(at: TopicPartition): Slot {
    const name = nameOf(at);
    let slot = slots.get(name);
    if (slot === undefined) {
      slot = createSlot(at);
      slots.set(name, slot);
    }
    return slot;
  }

  function reset(slot: Slot): void {
    dropWaiting(slot);
    if (slot.timer !== null) clearTimeout(slot.timer);
    slot.timer = null;
    slot.nextOffset = 0;
    slot.begunOffset = -1;
    slot.retained.forgetRange();
    if (slot.paused) told(() => consumer.resume([{ topic: slot.topic, partitions: [slot.partition] }]));
    slot.paused = false;
  }

  /** Pauses partitions that have enough to do, and resumes the others. */
  function steer(): void {
    let held = 0;
    for (const { bytes } of slots.values()) held += bytes;
    for (const slot of slots.values()) {
      const full = isFull(slot, held);
      if (full === slot.paused) continue;
      slot.paused = full;
      const at = [{ topic: slot.topic, partitions: [slot.partition] }];
      told(() => (full ? consumer.pause(at) : consumer.resume(at)));
    }
  }

  /** The client refuses when it is just starting anew; it begins at the committed offsets then, with nothing paused. */
  function told(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      logger.info({ err: error }, 'the consumer is not running');
    }
  }

  async function eachBatch({ batch, isRunning, isStale, resolveOffset }: EachBatchPayload): Promise<void> {
    // A fetch from one broker may come back after the group was joined again through another: to take what is somebody
    // else's by now would fence its owner.
    if (halted || !isRunning() || isStale() || !assignedNames.has(nameOf(batch))) return;
    const slot = slotOf(batch);
    const fetched = toFetched(batch, generation, slot);
    slot.nextOffset = Number(batch.lastOffset()) + 1;
    slot.waiting.push(fetched);
    slot.bytes += fetched.bytes;
    resolveOffset(String(batch.lastOffset()));
    void pump(slot);
    steer();
  }

  async function pump(slot: Slot): Promise<void> {
    if (slot.pumping) return;
    slot.pumping = true;
    while (slot.waiting.length > 0) {
      slot.begunMs = await pace.next(slot.begunMs);
      const fetched = halted ? undefined : takeWaiting(slot, bytesMax);
      if (fetched === undefined) break;
      steer();
      const pauseMs = await inTurn(slot, () => take(fetched, slot));
      slot.bytes -= fetched.bytes;
      steer();
      if (pauseMs > 0) await sleep(pauseMs);
    }
    slot.pumping = false;
  }

  /** One piece of work at a time for each partition; answers how long the partition is to rest. */
  async function inTurn(slot: Slot, work: () => Promise<number>): Promise<number> {
    const turn = slot.turn.run(work);
    const done = turn.then(
      () => undefined,
      (error: unknown) => options.onFatal(error),
    );
    inWork.add(done);
    await done;
    inWork.delete(done);
    return turn.catch(() => 0);
  }

  async function take(fetched: Fetched, slot: Slot): Promise<number> {
    const owned = (): boolean => fetched.generation === generation;
    const stopping = (): boolean => halted || !owned() || performance.now() - heardMs > options.sessionTimeoutMs;
    if (!owned() || fetched.jumps !== slot.jumps) return 0;
    const { topic, partition } = slot;
    slot.takenOffset = fetched.fetchedOffset;
    try {
      if (slot.acquired !== generation || fetched.strayed) {
        const acquire = (progressed: () => void) =>
          handlers.acquire({ topic, partition }, fetched.generation, progressed);
        const wanted = startOf(slot, fetched, await watchdog.watch('acquiring a partition', acquire));
        if (!owned()) return 0;
        slot.acquired = generation;
        const start = slot.retained.nearest(wanted);
        if (start !== fetched.fetchedOffset) {
          goTo(slot, start);
          return 0;
        }
        reportSkipped(slot, wanted, start);
      }
      const { records, lastOffset, endOffset, lag } = fetched;
      const batch = { topic, partition, records, lastOffset, endOffset, lag, owned, stopping };
      const leave = await handlers.process(batch);
      slot.failures = 0;
      slot.retained.reached(lastOffset);
      if (leave !== undefined && owned()) rest(slot, leave);
      return 0;
    } catch (error) {
      slot.acquired = -1;
      if (owned()) return recover(error, slot);
      logger.info({ topic, partition, err: error }, 'partition was taken away during a batch');
      return 0;
    }
  }

  /**
   * Where to go on from. While nothing is committed that is where the partition was begun, and not what was taken last: a
   * handler may have taken batches before it that it has yet to commit.
   */
  function startOf(slot: Slot, { fetchedOffset }: Fetched, committedOffset: number | null): number {
    if (committedOffset !== null) return committedOffset;
    if (slot.begunOffset === -1) slot.begunOffset = fetchedOffset;
    return slot.begunOffset;
  }

  /** Of offsets that are not in the log, those that may have held a record that nobody has read. */
  function reportSkipped({ topic, partition, retained }: Slot, wanted: number, start: number): void {
    const offsets = retained.takeSkipped(wanted, start);
    if (offsets === 0) return;
    logger.warn({ topic, partition, wanted, start, offsets }, 'offsets were deleted before they were read');
    options.onSkipped?.(topic, offsets);
  }

  /** Whatever waits, for the turn too, lies behind what is fetched from here. */
  function goTo(slot: Slot, offset: number): void {
    dropWaiting(slot);
    slot.jumps++;
    slot.nextOffset = offset;
    told(() => consumer.seek({ topic: slot.topic, partition: slot.partition, offset: String(offset) }));
    steer();
  }

  /** What was taken last is fetched again, and acquired anew then: from the committed offset. */
  function recover(error: unknown, slot: Slot): number {
    const recovery = recoveryOf(error);
    const { topic, partition } = slot;
    if (recovery === 'again' || slot.failures < FAILURES_WAITING_MAX) slot.failures++;
    if (recovery === 'stop' || slot.failures > FAILURES_MAX) {
      options.onFatal(recovery === 'stop' ? error : new StageFailedError('retries used up', { cause: error }));
      return BACKOFF_MS_MAX;
    }
    const facts = { topic, partition, failures: slot.failures, err: error };
    logger.warn(facts, 'batch failed, trying again from the committed offset');
    goTo(slot, slot.takenOffset);
    return Math.min(BACKOFF_MS * 2 ** slot.failures, BACKOFF_MS_MAX);
  }

  function rest(slot: Slot, { offset, notBeforeMs }: Leave): void {
    goTo(slot, offset);
    slot.acquired = -1;
    slot.timer = setTimeout(
      () => {
        slot.timer = null;
        steer();
      },
      Math.max(1, notBeforeMs - Date.now()),
    );
    steer();
  }

  async function between(at: TopicPartition, task: () => Promise<void>): Promise<void> {
    const slot = slotOf(at);
    const taken = generation;
    const pauseMs = await inTurn(slot, async () => {
      if (halted || taken !== generation || slot.acquired !== taken) return 0;
      try {
        await task();
      } catch (error) {
        slot.acquired = -1;
        if (taken === generation) return recover(error, slot);
      }
      return 0;
    });
    if (pauseMs > 0) await sleep(pauseMs);
  }

  function commit(at: TopicPartition, offset: number, metadata: string): Promise<void> {
    return commitAll([{ ...at, offset, metadata }]);
  }

  async function commitAll(offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.some((at) => slotOf(at).acquired !== generation)) {
      throw new PartitionLostError('partition lost before its commit');
    }
    await watchdog.watch('a commit', () =>
      committer.commit(offsets.map(({ offset, ...at }) => ({ ...at, offset: String(offset) }))),
    );
  }

  await consumer.connect();
  await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
  const config = {
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: options.concurrency,
    eachBatch,
  };
  const stopWatch = watchSilence(consumer, options.onFatal, () => halted);
  const run = await runConsumer(consumer, config, (error) => options.onFatal(error));
  return {
    between,
    commit,
    commitAll,
    assigned: () => assignment,
    wake() {
      for (const slot of slots.values()) {
        if (slot.timer === null) continue;
        clearTimeout(slot.timer);
        slot.timer = null;
      }
      steer();
    },
    async stop() {
      stopped = true;
      halted = true;
      await drained();
      for (const { timer } of slots.values()) if (timer !== null) clearTimeout(timer);
      stopWatch();
      await Promise.all([run.stop(), leaveJoining?.()]);
    },
  };
}
