// Writes each record once to a store without transactions: a block's plan is committed before its insert (write-ahead), and
// is finished by whoever owns the partitions next.

import type { Admin } from 'kafkajs';
import { createWatchdog, WATCHDOG_MS, type Watchdog } from '#infra/concurrency/time_limits.ts';
import { failpoint } from '#infra/failpoint.ts';
import {
  appendRows,
  type BlockPlan,
  dedupToken,
  type PendingRows,
  PLAN_PARTITIONS_MAX,
  pendingFrom,
  planOf,
  readPlan,
  rowsOf,
  topicIdOfPlan,
  writePlan,
} from '#pipelines/warehouse/block.ts';
import { consume } from './consumer/consume.ts';
import {
  type ConsumeOptions,
  type Consumption,
  endOf,
  type InBatch,
  type OffsetCommit,
} from './consumer/consumption.ts';
import { nameOf, type TopicPartition } from './consumer/partition_state.ts';
import { createPoisonPillGuard, type PoisonPillGuard, type ProcessingStep } from './consumer/poison_pill_guard.ts';
import { type OffsetLog, openOffsetLog } from './offset_log.ts';
import { createGroupOffsets, type GroupOffsets, openTopicIds } from './offsets.ts';
import { createKeyedProducer, type KeyedProducer } from './producers.ts';
import { readRanges } from './read_topic.ts';
import type { InRecord } from './record.ts';

const LOOKS_PER_INTERVAL = 16;
const LOOK_MS_MIN = 25;

/**
 * Plan, insert, commit. One insert takes what all owned partitions of a topic have, so that parts do not grow in number
 * with partitions. Before it the ranges of all of them are written into the metadata of the committed offset of each, in
 * one request, the offsets unchanged; after it the offsets behind the ranges are committed. Whoever takes one of the
 * partitions after a crash finds the plan, reads all its ranges, whoever owns them by now, forms the same block and
 * inserts it under the same token, which the table drops if it has it already. Only then it goes on behind its range.
 */
export async function runSink<Row>(options: SinkOptions<Row>): Promise<Consumption> {
  const ids = await openTopicIds(options.kafka);
  const log = await openOffsetLog(options, ids);
  const producer = await createKeyedProducer(options.kafka, options.watchdogMs);
  const sink = new BlockSink(options, log, producer);
  const running = await consume({
    ...options,
    handlers: {
      acquire: (at, _generation, progressed) => sink.resume(at, progressed),
      process: sink.guard.process,
    },
  });
  sink.run(running);
  const lookMs = Math.max(LOOK_MS_MIN, options.flushIntervalMs / LOOKS_PER_INTERVAL);
  const timer = setInterval(() => sink.writeOverdue(), lookMs);
  return {
    ...running,
    // A block that is written has a watchdog of its own, which knows how far that is.
    progress: () => running.progress().filter(({ topic }) => !sink.isWriting(topic)),
    async stop() {
      clearInterval(timer);
      await running.stop();
      await Promise.all([producer.stop(), log.close(), ids.close()]);
    },
  };
}

/** What `consume` asks for, which this calls; `watchdogMs` holds for inserts too. */
export interface SinkOptions<Row> extends Omit<ConsumeOptions, 'handlers' | 'onEmpty'> {
  admin: Admin;
  /** The offset log: compacted, of one partition. */
  offsetsTopic: string;
  /** Rows of one record; must be the same whenever the record is read. */
  toRows(topic: string, partition: number, record: InRecord): Promise<Row[]>;
  /** Makes a dead letter of a record that kills the process whenever its rows are made. Absent: it is tried for ever. */
  deadLetter?(topic: string, partition: number, record: InRecord): Promise<void>;
  /**
   * Writes a block; the same token always comes with the same rows, which are to be written once. `again`: the block may
   * have been written before. An insert of many steps calls `progressed` after each.
   */
  insert(topic: string, token: string, rows: readonly Row[], again: boolean, progressed: () => void): Promise<void>;
  /**
   * The rows of a topic's partitions are written when there are this many, or this many bytes of records. Otherwise they are
   * written with the first batch that comes `flushIntervalMs` or more after the last block was begun (`intervalFactor`: where many rows
   * come, up to twice that), or a quarter of that time later if no batch comes. Records come in bursts, one for each transaction; a
   * block that ended in the middle of a burst would leave its rest to the next block.
   */
  blockRowsMax: number;
  blockBytesMax: number;
  flushIntervalMs: number;
  /** Called when the rows of a partition are written and its offset is committed. */
  committed(topic: string, partition: number, rows: readonly Row[]): void;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

const isPlan = (metadata: string): boolean => readPlan(metadata) !== null;

/** In flush intervals since the last block was begun: what waits is then written, whether a batch comes or not. */
const OVERDUE_INTERVALS = 1.25;

/** Rows a second from which on blocks take longer. */
const ROWS_PER_S = 5_000;
const FACTOR_MAX = 2;

/**
 * By how much a block takes longer than the flush interval where so many rows came since the last one: half as many blocks are merged
 * half as often at first, and an insert costs the server some 16 ms however small it is.
 */
export const intervalFactor = (rows: number, sinceMs: number): number =>
  Math.min(FACTOR_MAX, Math.max(1, (rows * 1_000) / Math.max(sinceMs, 1) / ROWS_PER_S));

class BlockSink<Row> {
  readonly guard: PoisonPillGuard;
  private readonly options: SinkOptions<Row>;
  private readonly offsets: GroupOffsets;
  private readonly log: OffsetLog;
  private readonly producer: KeyedProducer;
  private readonly watchdog: Watchdog;
  /** Rows of each partition that are not written yet, by its name. */
  private readonly open = new Map<string, PendingRows<Row>>();
  /** The block of each topic that is being written, with its partitions by name: they rest until it is done. */
  private readonly writing = new Map<string, { names: Set<string>; done: Promise<void> }>();
  private readonly startedMs: number;
  private readonly begunMs = new Map<string, number>();
  /** By topic, of the block that was begun last. */
  private readonly factors = new Map<string, number>();
  /** How many batches of each topic are being made into rows. */
  private readonly converting = new Map<string, number>();
  /**
   * Planned blocks, by token, that this process finishes or has finished: their other partitions need not insert them. Those
   * that wait are told of its progress.
   */
  private readonly finished = new Map<string, { done: Promise<void>; waiting: Set<() => void> }>();
  private readonly started = Promise.withResolvers<Consumption>();
  private consumption: Consumption | null = null;

  constructor(options: SinkOptions<Row>, log: OffsetLog, producer: KeyedProducer) {
    const { admin, groupId, watchdogMs, onFatal, deadLetter, logger } = options;
    this.options = options;
    this.log = log;
    this.producer = producer;
    this.offsets = createGroupOffsets(admin, groupId, log, logger, isPlan);
    this.watchdog = createWatchdog({ limitMs: watchdogMs ?? WATCHDOG_MS, onFatal });
    this.startedMs = options.nowMs();
    this.guard = createPoisonPillGuard({
      commitMetadata: (batch, offset, metadata) => this.noteSearch(batch, offset, metadata),
      process: (batch) => this.gatherBatch(batch),
      processSearched: (batch, kind) => this.gatherSearched(batch, kind),
      deadLetter: deadLetter && ((batch) => this.deadLetterBatch(batch)),
      onSearch: options.onSearch,
      logger,
    });
  }

  run(consumption: Consumption): void {
    this.consumption = consumption;
    this.started.resolve(consumption);
  }

  isWriting(topic: string): boolean {
    return this.writing.has(topic);
  }

  /** Begins a block of each topic whose rows have waited too long. */
  writeOverdue(): void {
    for (const topic of this.options.topics) {
      if (this.intervalsSince(topic) >= OVERDUE_INTERVALS) void this.writeTopic(topic);
    }
  }

  /**
   * Reads the committed offset of a partition that was acquired. If its metadata holds the plan of a block, that block is
   * inserted first, whoever planned it, and the partition goes on behind its range.
   */
  async resume(at: TopicPartition, progressed: () => void): Promise<number | null> {
    this.open.delete(nameOf(at));
    const found = await this.offsets.of(at);
    this.guard.acquired(at, found?.metadata ?? '');
    if (found === null) return null;
    // Committed with the next block, or without one: a partition that gets no more records would seem to lag for ever.
    if (found.isLost && found.metadata === '') this.open.set(nameOf(at), pendingFrom(found.offset, 0));
    const planned = topicIdOfPlan(found.metadata);
    const id = this.log.topicId(at.topic);
    // What was planned of a topic that was there before under the name is gone with it.
    const isOurs = planned === '' || id === '' || planned === id;
    const plan = isOurs ? readPlan(found.metadata) : null;
    const own = plan?.get(at.partition);
    if (plan === null || own === undefined) return found.offset;
    await this.recoverBlock(at.topic, plan, dedupToken(at.topic, plan, planned), progressed);
    this.open.set(nameOf(at), pendingFrom(own.last + 1, 0));
    return own.last + 1;
  }

  /** Makes rows of a batch. They wait for the topic's next block, which is begun here if it is due. */
  private async gatherBatch(batch: InBatch): Promise<undefined> {
    const { converting, open, options } = this;
    const { topic } = batch;
    converting.set(topic, (converting.get(topic) ?? 0) + 1);
    try {
      for (const record of batch.records) {
        this.put(batch, record, await options.toRows(topic, batch.partition, record));
      }
      const gathered = open.get(nameOf(batch));
      if (gathered !== undefined) gathered.next = Math.max(gathered.next, endOf(batch));
    } finally {
      converting.set(topic, (converting.get(topic) ?? 0) - 1);
    }
    // The partitions of one fetch go into one block.
    if (converting.get(topic) === 0 && this.intervalsSince(topic) >= 1) void this.writeTopic(topic);
    await this.awaitCapacity(batch);
    return undefined;
  }

  /**
   * Gathers records among which a poison pill may be: to make rows is what may kill the process. They are written like all
   * others, and at once where metadata is to be committed behind them.
   */
  private async gatherSearched(batch: InBatch, kind: ProcessingStep['kind']): Promise<undefined> {
    const { topic, partition } = batch;
    await this.gatherBatch(batch);
    await this.commitAll([{ topic, partition, offset: batch.records[0]?.offset ?? 0, metadata: '' }]);
    if (kind !== 'batch') await this.writeBlock(topic, [batch]);
    return undefined;
  }

  /** A plan stays until its block is finished: when an insert fails, its rows may have been written all the same. */
  private async noteSearch({ topic, partition }: TopicPartition, offset: number, metadata: string): Promise<void> {
    const own = this.offsets.ownOf({ topic, partition });
    if (metadata === '' && own !== null && isPlan(own.metadata)) return;
    await this.commitAll([{ topic, partition, offset, metadata }]);
  }

  /** Makes a dead letter of each record, and commits the offset behind them. */
  private async deadLetterBatch(batch: InBatch): Promise<undefined> {
    for (const record of batch.records) {
      await this.options.deadLetter?.(batch.topic, batch.partition, record);
      this.put(batch, record, []);
    }
    await this.writeBlock(batch.topic, [batch]);
    return undefined;
  }

  private put(batch: InBatch, record: InRecord, rows: readonly Row[]): void {
    const gathered = this.open.get(nameOf(batch)) ?? pendingFrom<Row>(record.offset, 0);
    this.open.set(nameOf(batch), gathered);
    if (gathered.first === null) gathered.openedMs = this.options.nowMs();
    appendRows(gathered, record.offset, rows, record.value?.length ?? 0);
  }

  /** Flush intervals since the topic's last block was begun. Until the first one, since the start of the process. */
  private intervalsSince(topic: string): number {
    return this.sinceMs(topic) / this.options.flushIntervalMs / (this.factors.get(topic) ?? 1);
  }

  private sinceMs(topic: string): number {
    return this.options.nowMs() - (this.begunMs.get(topic) ?? this.startedMs);
  }

  /** Writes the rows of a topic's partitions in one block, if there are any and no block of it is being written. */
  private async writeTopic(topic: string): Promise<void> {
    const { consumption, writing } = this;
    if (consumption === null || writing.has(topic)) return;
    const waiting = this.waitingIn(topic);
    const some = waiting
      .toSorted(([, one], [, other]) => one.openedMs - other.openedMs)
      .slice(0, PLAN_PARTITIONS_MAX)
      .map(([at]) => at);
    // Rows that were gathered may be of a partition that is another member's by now.
    if (some.length === 0) return;
    // Of one that is full before its time nothing is to be learned.
    if (this.intervalsSince(topic) >= 1) {
      const rows = waiting.reduce((sum, [, gathered]) => sum + gathered.rows.length, 0);
      this.factors.set(topic, intervalFactor(rows, this.sinceMs(topic)));
    }
    this.begunMs.set(topic, this.options.nowMs());
    const written = runAtBarrier(consumption, some, (ours) => this.writeBlock(topic, ours));
    const done = written.finally(() => writing.delete(topic));
    writing.set(topic, { names: new Set(some.map(nameOf)), done });
    await done;
  }

  /** Waits while a topic's partitions hold a full block or more, the one that is being written included. */
  private async awaitCapacity(at: TopicPartition): Promise<void> {
    while (this.isFull(at.topic)) {
      const running = this.writing.get(at.topic);
      if (running === undefined) return void this.writeTopic(at.topic);
      if (running.names.has(nameOf(at))) return;
      await running.done;
    }
  }

  private waitingIn(topic: string): [TopicPartition, PendingRows<Row>][] {
    const all = this.consumption?.assigned() ?? [];
    return all.flatMap((at): [TopicPartition, PendingRows<Row>][] => {
      const gathered = at.topic === topic ? this.open.get(nameOf(at)) : undefined;
      return gathered === undefined ? [] : [[at, gathered]];
    });
  }

  private isFull(topic: string): boolean {
    let held = { rows: 0, bytes: 0 };
    for (const [, { rows, bytes }] of this.waitingIn(topic)) {
      held = { rows: held.rows + rows.length, bytes: held.bytes + bytes };
    }
    return held.rows >= this.options.blockRowsMax || held.bytes >= this.options.blockBytesMax;
  }

  /** Plans, inserts and commits one block of the rows of these partitions. Runs in their turns only. */
  private async writeBlock(topic: string, partitions: readonly TopicPartition[]): Promise<void> {
    const parts = new Map<number, PendingRows<Row>>();
    for (const at of partitions) {
      const gathered = this.open.get(nameOf(at));
      if (gathered !== undefined) parts.set(at.partition, gathered);
    }
    if (parts.size === 0) return;
    const plan = planOf(parts);
    if (plan.size > 0) {
      await this.announce(topic, plan);
      await this.insert(topic, plan, parts);
    }
    failpoint('sink.after_insert');
    await this.commit(topic, parts);
  }

  /** Writes the plan into the metadata of each partition's committed offset, which stays where it is. */
  private async announce(topic: string, plan: BlockPlan): Promise<void> {
    const metadata = writePlan(plan, this.log.topicId(topic));
    await this.commitAll([...plan].map(([partition, { first }]) => ({ topic, partition, offset: first, metadata })));
    failpoint('sink.after_plan');
  }

  private async insert(topic: string, plan: BlockPlan, parts: ReadonlyMap<number, PendingRows<Row>>): Promise<void> {
    const token = dedupToken(topic, plan, this.log.topicId(topic));
    const rows = rowsOf(plan, (partition) => parts.get(partition)?.rows ?? []);
    await this.watchdog.watch('an insert', (progressed) => this.options.insert(topic, token, rows, false, progressed));
  }

  private async commit(topic: string, parts: ReadonlyMap<number, PendingRows<Row>>): Promise<void> {
    const offsets = [...parts].map(([partition, { next }]) => ({ topic, partition, offset: next, metadata: '' }));
    await this.commitAll(offsets, () => {
      for (const [partition, { rows }] of parts) {
        this.open.delete(nameOf({ topic, partition }));
        this.options.committed(topic, partition, rows);
      }
    });
    failpoint('sink.after_commit');
  }

  /** `committed` is called when that cannot fail any more, though the offset log may. */
  private async commitAll(offsets: readonly OffsetCommit[], committed = (): void => undefined): Promise<void> {
    const consumption = await this.started.promise;
    // The coordinator first: it refuses what is another member's by now.
    await consumption.commitAll(offsets);
    for (const { offset, metadata, ...at } of offsets) this.offsets.passed(at, { offset, metadata });
    committed();
    await this.producer.send(offsets.map((at) => this.log.recordOf(at, at)));
  }

  /** Finishes a block once for all its partitions; each that waits for it is told of its progress. */
  private recoverBlock(topic: string, plan: BlockPlan, token: string, progressed: () => void): Promise<void> {
    const known = this.finished.get(token);
    known?.waiting.add(progressed);
    if (known !== undefined) return known.done;
    const waiting = new Set([progressed]);
    const done = this.finish(topic, plan, token, () => {
      for (const tell of waiting) tell();
    }).finally(() => waiting.clear());
    this.finished.set(token, { done, waiting });
    // A failure is its caller's to see; the next one tries again.
    done.catch(() => this.finished.delete(token));
    return done;
  }

  private async finish(topic: string, plan: BlockPlan, token: string, progressed: () => void): Promise<void> {
    const { kafka, admin, groupId, logger } = this.options;
    logger.info({ token }, 'finishing the planned block');
    const records = await readRanges({ kafka, admin, topic, groupPrefix: groupId, ranges: plan });
    const rows = new Map<number, Row[]>();
    for (const [partition, of] of records) {
      const some: Row[] = [];
      for (const record of of) {
        some.push(...(await this.options.toRows(topic, partition, record)));
        progressed();
      }
      rows.set(partition, some);
    }
    const all = rowsOf(plan, (partition) => rows.get(partition) ?? []);
    if (all.length > 0) await this.options.insert(topic, token, all, true, progressed);
  }
}

/**
 * Runs a task between batches of several partitions at once. It begins when none of them has anything else in work, and is
 * given those that are still ours; they go on when it has ended. If it fails, each of them is read again from its committed
 * offset.
 */
async function runAtBarrier<At extends TopicPartition>(
  { between }: Pick<Consumption, 'between'>,
  partitions: readonly At[],
  task: (ours: At[]) => Promise<void>,
): Promise<void> {
  const ours: At[] = [];
  const answered = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  let awaited = partitions.length;
  const answer = (): void => {
    if (--awaited === 0) answered.resolve();
  };
  const turns = partitions.map(async (at) => {
    let came = false;
    await between(at, () => {
      came = true;
      ours.push(at);
      answer();
      return done.promise;
    });
    if (!came) answer();
  });
  await answered.promise;
  // With none of them ours there is nobody to hear of a failure, and nothing that could fail.
  if (ours.length > 0) await task(ours).then(done.resolve, done.reject);
  await Promise.all(turns);
}
