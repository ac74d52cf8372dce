// A stage that consumes, produces and commits its offsets in one Kafka transaction, one producer for each group of partitions.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Producer, TopicMessages, Transaction } from 'kafkajs';
import { createMutex } from '#infra/concurrency/gates.ts';
import { createWatchdog, WATCHDOG_MS, type Watchdog } from '#infra/concurrency/time_limits.ts';
import { PartitionLostError } from '#infra/errors.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { Logger } from '#infra/log/logger.ts';
import { consume } from './consumer/consume.ts';
import { type ConsumeOptions, type Consumption, type Deferral, endOf, type InBatch } from './consumer/consumption.ts';
import { transactionalId } from './consumer/group_consumer.ts';
import { nameOf, type TopicPartition } from './consumer/partition_state.ts';
import { createPoisonPillGuard } from './consumer/poison_pill_guard.ts';
import { type OffsetLog, openOffsetLog } from './offset_log.ts';
import { type Committed, createGroupOffsets, type GroupOffsets, openTopicIds } from './offsets.ts';
import { explicitPartitioner, openLeaders, type PartitionLeaders } from './producers.ts';
import type { OutRecord } from './record.ts';
import { COMPRESSION } from './zstd.ts';

/**
 * Consume, transform, produce, in one Kafka transaction with the offsets.
 *
 * kafkajs commits transactional offsets without the group's generation, so ownership is fenced by hand. There is one
 * transactional id per consumer group, topic and partition group, and one member has the whole partition group. When it
 * takes the id, with no transaction of it in flight, it begins and aborts an empty transaction, which fences the previous
 * owner and ends what that had open; only then it reads the committed offset of each partition. What a partition read before
 * the id was taken again is not committed. After any error inside a transaction the producer is closed and made anew,
 * because the client may give a failed batch's sequence number to the next one.
 *
 * What the partitions of a group transform side by side goes in one transaction, which costs about the same for one of them
 * and for all. A batch that fails to transform fails by itself; when a transaction fails, each of its batches is taken again.
 *
 * What goes to one broker is sent in one request: a transaction of twelve partitions then needs a fifth of the requests that
 * one request per partition needs. It is sent once. The client may miss a partition or write it twice when it retries a
 * request of several partitions after a leader has moved; here the transaction is aborted, and the batches are taken again.
 */
export async function runTransactionalStage(options: TransactionalStageOptions): Promise<Consumption> {
  const { kafka, admin, groupId, watchdogMs, onFatal, transform, deadLetter, logger } = options;
  const ids = await openTopicIds(kafka);
  const log = await openOffsetLog(options, ids);
  const leaders = await openLeaders(kafka);
  const stage: Stage = {
    options,
    offsets: createGroupOffsets(admin, groupId, log, logger),
    log,
    watchdog: createWatchdog({ limitMs: watchdogMs ?? WATCHDOG_MS, onFatal }),
    leaders,
    between: (at, task) => consumption.between(at, task),
  };
  /** Every partition group that was ever assigned, by its transactional id. */
  const groups = new Map<string, PartitionGroup>();
  const groupOf = (at: TopicPartition): PartitionGroup => {
    const id = transactionalId(groupId, at, options.partitionGroupSize ?? 1);
    const group = groups.get(id) ?? new PartitionGroup(stage, id);
    groups.set(id, group);
    return group;
  };
  const guard = createPoisonPillGuard({
    commitMetadata: (batch, next, metadata) => groupOf(batch).commitMetadata(batch, next, metadata),
    process: (batch) => groupOf(batch).passOn(batch, transform, options.emptyMs),
    processSearched: (batch) => groupOf(batch).passOn(batch, transform),
    deadLetter: deadLetter && ((batch) => groupOf(batch).passOn(batch, async () => deadLetter(batch))),
    onSearch: options.onSearch,
    logger,
  });
  const consumption = await consume({
    ...options,
    handlers: {
      async acquire(at, generation) {
        const found = await groupOf(at).acquire(at, generation);
        guard.acquired(at, found?.metadata ?? '');
        return found === null ? null : found.offset;
      },
      process: guard.process,
    },
  });
  return {
    ...consumption,
    async stop() {
      await consumption.stop();
      await Promise.all([...groups.values()].map((group) => group.end()));
      await Promise.all([leaders.close(), log.close(), ids.close()]);
    },
  };
}

export interface TransformResult {
  outputs: OutRecord[];
  /** Called once the transaction has committed: the place to count. */
  committed(): void;
  /** Where records are left for later; absent if all were taken. */
  leave?: Deferral;
}

/**
 * What `consume` asks for, which this calls. A transaction costs about the same for ten events and for a thousand, so
 * `lingerMs` and `fetchBytesMin` matter.
 */
export interface TransactionalStageOptions extends Omit<ConsumeOptions, 'handlers' | 'onEmpty'> {
  admin: Admin;
  /** The offset log: compacted, of one partition. */
  offsetsTopic: string;
  transform(batch: InBatch): Promise<TransformResult>;
  /**
   * For so long the offset of a batch of which nothing was written waits for a transaction to go with, in milliseconds: for a stage
   * to which most batches mean nothing, and that may be given them again. Absent: each has a transaction of its own.
   */
  emptyMs?: number;
  /** Makes a dead letter of the one record of a batch because it kills the process. Absent: it is tried for ever. */
  deadLetter?(batch: InBatch): TransformResult | Promise<TransformResult>;
}

interface Stage {
  readonly options: TransactionalStageOptions;
  readonly offsets: GroupOffsets;
  readonly log: OffsetLog;
  readonly watchdog: Watchdog;
  readonly leaders: PartitionLeaders;
  readonly between: Consumption['between'];
}

/** What one partition has to commit: records, and the offset to go on from. */
interface Part {
  batch: Pick<InBatch, 'topic' | 'partition' | 'owned'>;
  outputs: readonly OutRecord[];
  next: number;
  /** If not empty, nothing is sent: only this is written at the offset. */
  metadata: string;
  committed(): void;
  /** In milliseconds, where its offset may wait for a transaction. */
  waitsMs?: number | undefined;
}

const TRANSACTION_TIMEOUT_MS = 60_000;

/** Partitions that commit in one transaction, as this process has them. */
class PartitionGroup {
  private readonly stage: Stage;
  private readonly id: string;
  /** One transaction, or the taking of its transactional id, at a time. */
  private readonly turn = createMutex();
  private readonly gather = createGather<Part>((parts) => this.turn.run(() => this.commitParts(parts)));
  /** Holds the transactional id; null while that has to be taken. */
  private producer: Producer | null = null;
  /** The generation in which the id was taken; -1 if it has yet to be fenced. */
  private generation = -1;
  /** The producer of each partition whose committed offset was read after the producer had taken the id. */
  private readonly acquired = new Map<number, Producer>();
  /** Of each partition what was passed without being committed yet, and what sees that it is. */
  private readonly waiting = new Map<number, Part>();
  private readonly timers = new Map<number, NodeJS.Timeout>();

  constructor(stage: Stage, id: string) {
    this.stage = stage;
    this.id = id;
  }

  /** Takes the transactional id, and reads what is committed of a partition after that. */
  async acquire(at: TopicPartition, generation: number): Promise<Committed | null> {
    this.forget(at.partition);
    const producer = await this.turn.run(() => this.takeTransactionalId(generation));
    const found = await this.stage.offsets.of(at);
    this.acquired.set(at.partition, producer);
    // A partition that gets no more records would seem to lag for ever.
    if (found?.isLost) await this.commitMetadata({ ...at, owned: () => true }, found.offset, found.metadata);
    return found;
  }

  commitMetadata(batch: Part['batch'], next: number, metadata: string): Promise<void> {
    return this.gather.run(async () => ({ batch, outputs: [], next, metadata, committed: () => undefined }));
  }

  /**
   * Transforms a batch, and resolves when the transaction with its outputs and its offset is committed; where it has none and may
   * wait, at once.
   */
  async passOn(
    batch: InBatch,
    transform: TransactionalStageOptions['transform'],
    emptyMs?: number,
  ): Promise<Deferral | undefined> {
    let leave: Deferral | undefined;
    await this.gather.run(async () => {
      if (!this.isOurs(batch)) throw new PartitionLostError('partition lost before its batch');
      const result = await transform(batch);
      leave = result.leave;
      const { outputs, committed } = result;
      const waitsMs = outputs.length === 0 && leave === undefined ? emptyMs : undefined;
      return { batch, outputs, next: leave?.offset ?? endOf(batch), metadata: '', committed, waitsMs };
    });
    return leave;
  }

  async end(): Promise<void> {
    for (const partition of [...this.timers.keys()]) this.forget(partition);
    await this.close();
  }

  private async close(): Promise<void> {
    const { producer } = this;
    this.producer = null;
    this.acquired.clear();
    this.waiting.clear();
    await producer?.disconnect();
  }

  /** What waits of a partition that is read from its committed offset again comes again. */
  private forget(partition: number): void {
    clearTimeout(this.timers.get(partition));
    this.timers.delete(partition);
    this.waiting.delete(partition);
  }

  /** Has the part wait, behind what waits of its partition already. */
  private wait(part: Part, waitsMs: number): void {
    const { partition } = part.batch;
    this.waiting.set(partition, followed(this.waiting.get(partition), part));
    if (!this.timers.has(partition)) this.commitLater(part.batch, waitsMs);
  }

  private commitLater({ topic, partition }: TopicPartition, ms: number): void {
    const at = { topic, partition };
    const timer = setTimeout(() => void this.stage.between(at, () => this.commitWaiting(at)), ms);
    this.timers.set(partition, timer);
  }

  /** Between two batches, so that the partition is read again from its committed offset where this fails. */
  private async commitWaiting({ partition }: TopicPartition): Promise<void> {
    const part = this.waiting.get(partition);
    this.forget(partition);
    if (part === undefined) {
      // A transaction has taken it along meanwhile; or it is gone with a producer that was closed.
      if (this.producer !== null && this.acquired.get(partition) === this.producer) return;
      throw new PartitionLostError('partition lost before its offset was committed');
    }
    await this.gather.run(async () => ({ ...part, waitsMs: undefined }));
  }

  /** Whether the process may still commit the batch under the transactional id that it holds. */
  private isOurs(batch: Part['batch']): boolean {
    return this.producer !== null && batch.owned() && this.acquired.get(batch.partition) === this.producer;
  }

  /**
   * Commits the parts whose partitions are still ours, and what waits with them; where all may wait, they do. Answers for each part
   * null, or the error that it failed with.
   */
  private async commitParts(parts: readonly Part[]): Promise<(Error | null)[]> {
    const { producer } = this;
    const { watchdog } = this.stage;
    const ours = parts.filter(({ batch }) => this.isOurs(batch));
    if (producer !== null && ours.some(({ waitsMs }) => waitsMs === undefined)) {
      const all = this.takeWith(ours);
      try {
        await watchdog.watch('a transaction', () => transact(this.stage, producer, [...all.values()]));
      } catch (error) {
        // Those that waited have no batch that could fail with it.
        for (const { batch } of all.values()) if (!this.timers.has(batch.partition)) this.commitLater(batch, 0);
        await watchdog.watch('closing a producer', () => this.close());
        throw error;
      }
      for (const { committed } of all.values()) committed();
    } else {
      for (const part of ours) this.wait(part, part.waitsMs ?? 0);
    }
    return parts.map((part) =>
      ours.includes(part) ? null : new PartitionLostError('partition lost before its transaction'),
    );
  }

  /** Parts to be committed, and with them what waits; of each partition one. */
  private takeWith(parts: readonly Part[]): Map<number, Part> {
    const all = new Map([...this.waiting].filter(([, { batch }]) => this.isOurs(batch)));
    for (const partition of all.keys()) this.forget(partition);
    for (const part of parts) all.set(part.batch.partition, followed(all.get(part.batch.partition), part));
    return all;
  }

  /** Takes the group's transactional id and fences its former owner: once in each generation, and after an error. */
  private async takeTransactionalId(generation: number): Promise<Producer> {
    if (this.producer !== null && this.generation === generation) return this.producer;
    // Who waited through a drain that took too long would close what the partition's next owner has taken.
    if (generation < this.generation) throw new PartitionLostError('partition lost before its id was taken');
    await this.close();
    const producer = this.stage.options.kafka.producer({
      transactionalId: this.id,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      createPartitioner: explicitPartitioner,
      retry: { retries: 0 },
    });
    await producer.connect();
    this.producer = producer;
    // If the fence fails, the next call that takes the id sets it.
    this.generation = -1;
    const fence = await producer.transaction();
    await fence.abort();
    this.generation = generation;
    return producer;
  }
}

/** A part behind one of its partition that waits. */
function followed(before: Part | undefined, part: Part): Part {
  if (before === undefined) return part;
  return {
    ...part,
    committed() {
      before.committed();
      part.committed();
    },
  };
}

async function transact(stage: Stage, producer: Producer, parts: readonly Part[]): Promise<void> {
  const { leaders, log, offsets, options } = stage;
  const moved = parts.filter(({ metadata }) => metadata === '');
  const noted = moved.map(({ batch, next }) => log.recordOf(batch, { offset: next, metadata: '' }));
  const records = [...moved.flatMap(({ outputs }) => outputs), ...noted];
  await leaders.learn([...new Set(records.map(({ topic }) => topic))]);
  const requests = requestsByLeader(records, leaders.of);
  const transaction = await producer.transaction();
  // A transaction that only writes metadata sends nothing, and passes no failpoint.
  const at = moved.length > 0 ? failpoint : () => undefined;
  try {
    await beginWithOffsets(transaction, options.groupId, parts);
    at('stage.after_offsets');
    for (const topicMessages of requests) {
      at('stage.before_send');
      await transaction.sendBatch({ topicMessages, acks: -1, compression: COMPRESSION });
      at('stage.after_send');
    }
    await transaction.commit();
    for (const { batch, next, metadata } of parts) offsets.passed(batch, { offset: next, metadata });
    at('stage.after_commit');
  } catch (error) {
    leaders.forget();
    await abort(transaction, options.logger);
    throw error;
  }
}

async function abort(transaction: Transaction, logger: Logger): Promise<void> {
  if (!transaction.isActive()) return;
  // The next owner's fence ends the transaction if this abort does not arrive.
  await transaction.abort().catch((failure: unknown) => logger.info({ err: failure }, 'abort not confirmed'));
}

/** On one broker a transaction has ended within this; where its markers have copies to wait for, within some of these. */
const BEGIN_WAIT_MS = 5;
const BEGIN_WAIT_MS_MAX = 100;
/** In all about 20 s, as for any other request. */
const BEGIN_TRIES_MAX = 200;

/**
 * Begins the transaction with the offsets. While the brokers still end the transaction before, they begin nothing, and are
 * asked again after pauses that grow: of several brokers each asks the others first, and nearly all even ones would be too short.
 */
async function beginWithOffsets(transaction: Transaction, groupId: string, parts: readonly Part[]): Promise<void> {
  const topics = [...Map.groupBy(parts, ({ batch }) => batch.topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ batch: { partition }, next, metadata }) => ({
      partition,
      offset: String(next),
      metadata,
    })),
  }));
  for (let tries = 1; ; tries++) {
    try {
      return await transaction.sendOffsets({ consumerGroupId: groupId, topics });
    } catch (error) {
      if ((error as { type?: unknown }).type !== 'CONCURRENT_TRANSACTIONS' || tries === BEGIN_TRIES_MAX) throw error;
      await sleep(Math.min(BEGIN_WAIT_MS * 2 ** (tries - 1), BEGIN_WAIT_MS_MAX));
    }
  }
}

interface Waiting<Item> {
  item: Item;
  flushed: PromiseWithResolvers<void>;
}

/**
 * Puts what several workers make side by side into one flush. One flush at a time; what is made meanwhile goes into the
 * next. A worker that waits for its flush makes nothing else, so that others wait for each of them once at the most.
 * `flush` is given at least one item and says of each what became of it: null, or the error it failed with.
 */
export function createGather<Item>(flush: (items: readonly Item[]) => Promise<(Error | null)[]>) {
  let working = 0;
  let flushing = false;
  let waiting: Waiting<Item>[] = [];

  async function flushAll(): Promise<void> {
    if (flushing) return;
    flushing = true;
    while (working === 0 && waiting.length > 0) {
      const taken = waiting;
      waiting = [];
      await flush(taken.map(({ item }) => item)).then(
        (outcomes) => {
          for (const [index, { flushed }] of taken.entries()) {
            const error = outcomes[index] ?? null;
            if (error === null) flushed.resolve();
            else flushed.reject(error);
          }
        },
        (error: unknown) => {
          for (const { flushed } of taken) flushed.reject(error);
        },
      );
    }
    flushing = false;
  }

  return {
    /**
     * Does work and resolves when what it made has been flushed. A flush begins when nobody works any more: who fails is not
     * waited for, and rejects with its own error.
     */
    async run(work: () => Promise<Item>): Promise<void> {
      const flushed = Promise.withResolvers<void>();
      working++;
      try {
        waiting.push({ item: await work(), flushed });
      } catch (error) {
        flushed.reject(error);
      }
      working--;
      void flushAll();
      await flushed.promise;
    },
  };
}

/**
 * What a partition gets in one request, which is one batch and refused as a whole where it is greater than a topic takes
 * (8 MiB); half of that, as what cannot be compressed grows by its frame.
 */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Records as one request for each broker, in each of them topic by topic; those of no known leader are one more. What is too
 * much for one batch of a partition goes into requests behind them.
 */
export function requestsByLeader(
  records: readonly OutRecord[],
  leaderOf: (topic: string, partition: number) => number | undefined,
  batchBytesMax = BATCH_BYTES_MAX,
): TopicMessages[][] {
  return roundsOf(records, batchBytesMax).flatMap((round) => {
    const ofLeaders = Map.groupBy(round, ({ topic, partition }) => leaderOf(topic, partition));
    return [...ofLeaders.values()].map((ofLeader) =>
      [...Map.groupBy(ofLeader, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
        topic,
        messages: ofTopic.map(({ partition, key, value, headers }) => ({
          ...{ partition, key: key ?? null, value },
          ...(headers && { headers }),
        })),
      })),
    );
  });
}

/** Each partition's records in order over the rounds, in none of which it has more bytes unless that is one record. */
function roundsOf(records: readonly OutRecord[], bytesMax: number): OutRecord[][] {
  const reached = new Map<string, { round: number; bytes: number }>();
  function roundOf(record: OutRecord): number {
    const { round, bytes } = reached.get(nameOf(record)) ?? { round: 0, bytes: 0 };
    const fits = bytes === 0 || bytes + record.value.length <= bytesMax;
    const at = fits ? { round, bytes } : { round: round + 1, bytes: 0 };
    reached.set(nameOf(record), { round: at.round, bytes: at.bytes + record.value.length });
    return at.round;
  }
  return [...Map.groupBy(records, roundOf).values()];
}
