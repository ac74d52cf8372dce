import type { Admin, Kafka } from 'kafkajs';
import { createWatchdog, WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { createGroupOffsets } from '#infra/kafka/consumer/group_offsets.ts';
import { endOf, type InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { together } from '#infra/kafka/consumer/partition_barrier.ts';
import type { TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import { nameOf } from '#infra/kafka/consumer/partition_state.ts';
import { createCrashGuard } from '#infra/kafka/consumer/poison_pill_guard.ts';
import type { Suspected } from '#infra/kafka/consumer/poison_pill_search.ts';
import { readRanges } from '#infra/kafka/reader/read_ranges.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';
import {
  type BlockPlan,
  type Gathered,
  gather,
  gatherFrom,
  PLAN_PARTITIONS_MAX,
  planOf,
  readPlan,
  rowsOf,
  tokenOf,
  writePlan,
} from '#pipelines/warehouse/block.ts';

export interface SinkOptions<Row> {
  kafka: Kafka;
  admin: Admin;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  concurrency: number;
  /** As `consume` has it. */
  fetchBytesMin?: number;
  /** As `consume` has it; of inserts too. */
  watchdogMs?: number;
  /** Rows of one record; must be the same whenever the record is read. */
  toRows(topic: string, partition: number, record: InRecord): Promise<Row[]>;
  /** Puts away a record that kills the process whenever its rows are made. Absent: it is tried for ever. */
  bury?(topic: string, partition: number, record: InRecord): Promise<void>;
  /**
   * Writes a block; the same token is the same rows, to be written once. `again`: it may have been begun before. Where that
   * takes many steps it calls `progressed` after each.
   */
  insert(topic: string, token: string, rows: readonly Row[], again: boolean, progressed: () => void): Promise<void>;
  /**
   * What a topic's partitions have is written when it is this many rows or bytes of records; else no sooner than this time
   * after the last block was begun, together with what comes then, or a quarter of it later where nothing comes. Records
   * come in bursts, a transaction at a time: a block that ended between two would leave what comes next to the block behind it.
   */
  blockRowsMax: number;
  blockBytesMax: number;
  blockPaceMs: number;
  /** Called when the rows of a partition are written and its offset is committed. */
  committed(topic: string, partition: number, rows: readonly Row[]): void;
  nowMs(): number;
  logger: Logger;
  /** As `consume` has it. */
  onSkipped?(topic: string, offsets: number): void;
  onFatal(error: unknown): void;
}

/** A planned block that is being taken up, or was, and those that wait for it. */
interface TakingUp {
  done: Promise<void>;
  waiting: Set<() => void>;
}

/** In paces since the last block was begun: what waits is written, whether something comes or not. */
const OVERDUE_PACES = 1.25;
const LOOKS_PER_PACE = 16;

/** A block of a topic that is being written. */
interface Writing {
  /** The partitions in it, by name; they rest until it is done. */
  names: Set<string>;
  done: Promise<void>;
}

/**
 * Plan, insert, commit. One insert takes what all owned partitions of a topic have, so that parts do not grow in number
 * with partitions. Before it the ranges of all of them are written into the metadata of the committed offset of each, in
 * one request, the offsets unchanged; after it the offsets behind the ranges are committed. Whoever takes one of the
 * partitions after a crash finds the plan, reads all its ranges, whoever owns them by now, forms the same block and
 * inserts it under the same token, which the table drops if it has it already. Only then it goes on behind its range.
 */
export async function runSink<Row>(options: SinkOptions<Row>): Promise<Consumption> {
  const open = new Map<string, Gathered<Row>>();
  const writing = new Map<string, Writing>();
  const startedMs = options.nowMs();
  const begunMs = new Map<string, number>();
  /** Batches of a topic whose rows are being made. */
  const taking = new Map<string, number>();
  /** Plans whose blocks this process knows to be in, so that their other partitions need not insert them again. */
  const takenUp = new Map<string, TakingUp>();
  const offsets = createGroupOffsets(options.admin, options.groupId);
  const guard = createCrashGuard({ mark, take, takeSuspects, bury: options.bury && putAway, logger: options.logger });
  const watchdog = createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal });
  const begun = Promise.withResolvers<Consumption>();
  let consumption: Consumption | null = null;

  async function acquire(at: TopicPartition, _generation: number, progressed: () => void): Promise<number | null> {
    open.delete(nameOf(at));
    const found = await offsets.of(at);
    guard.acquired(at, found?.metadata ?? '');
    const plan = found === null ? null : readPlan(found.metadata, at.partition);
    const own = plan?.get(at.partition);
    if (plan === null || own === undefined) return found === null ? null : found.offset;
    await takeUpOnce(at.topic, plan, progressed);
    open.set(nameOf(at), gatherFrom(own.last + 1, 0));
    return own.last + 1;
  }

  /** Each partition of a plan that waits for it is told how it goes on. */
  function takeUpOnce(topic: string, plan: BlockPlan, progressed: () => void): Promise<void> {
    const token = tokenOf(topic, plan);
    const known = takenUp.get(token);
    known?.waiting.add(progressed);
    if (known !== undefined) return known.done;
    const waiting = new Set([progressed]);
    const done = takeUp(topic, plan, token, () => {
      for (const tell of waiting) tell();
    }).finally(() => waiting.clear());
    takenUp.set(token, { done, waiting });
    // A failure is its caller's to see; the next one tries again.
    done.catch(() => takenUp.delete(token));
    return done;
  }

  async function takeUp(topic: string, plan: BlockPlan, token: string, progressed: () => void): Promise<void> {
    options.logger.info({ token }, 'taking up the planned block');
    const { kafka, admin, groupId } = options;
    const records = await readRanges({ kafka, admin, topic, groupPrefix: groupId, ranges: plan });
    const rows = new Map<number, Row[]>();
    for (const [partition, of] of records) {
      const some: Row[] = [];
      for (const record of of) {
        some.push(...(await options.toRows(topic, partition, record)));
        progressed();
      }
      rows.set(partition, some);
    }
    const all = rowsOf(plan, (partition) => rows.get(partition) ?? []);
    if (all.length > 0) await options.insert(topic, token, all, true, progressed);
  }

  async function take(batch: InBatch): Promise<undefined> {
    const { topic } = batch;
    taking.set(topic, (taking.get(topic) ?? 0) + 1);
    try {
      for (const record of batch.records) put(batch, record, await options.toRows(topic, batch.partition, record));
      const gathered = open.get(nameOf(batch));
      if (gathered !== undefined) gathered.next = Math.max(gathered.next, endOf(batch));
    } finally {
      taking.set(topic, (taking.get(topic) ?? 0) - 1);
    }
    // What one fetch brought of several partitions goes together.
    if (taking.get(topic) === 0 && pacesSince(topic) >= 1) void write(topic);
    await makeRoom(batch);
    return undefined;
  }

  /** Since the topic's last block was begun; what a start finds is gathered as if one had been begun then. */
  function pacesSince(topic: string): number {
    return (options.nowMs() - (begunMs.get(topic) ?? startedMs)) / options.blockPaceMs;
  }

  function put(batch: InBatch, record: InRecord, rows: readonly Row[]): void {
    const gathered = open.get(nameOf(batch)) ?? gatherFrom<Row>(record.offset, 0);
    open.set(nameOf(batch), gathered);
    if (gathered.first === null) gathered.openedMs = Math.min(options.nowMs(), record.timestampMs);
    gather(gathered, record.offset, rows, record.value?.length ?? 0);
  }

  /** Nothing of the partition is gathered yet when its first batch after a start is marked. */
  async function mark(at: TopicPartition, offset: number, metadata: string): Promise<void> {
    await (await begun.promise).commit(at, offset, metadata);
    offsets.passed(at, { offset, metadata });
  }

  /** To make rows is what may kill; they are written like all others, and at once where the next record is to be marked. */
  async function takeSuspects(batch: InBatch, kind: Suspected['kind']): Promise<undefined> {
    await take(batch);
    await mark(batch, batch.records[0]?.offset ?? 0, '');
    if (kind !== 'together') await writeBlock(batch.topic, [batch]);
    return undefined;
  }

  async function putAway(batch: InBatch): Promise<undefined> {
    for (const record of batch.records) {
      await options.bury?.(batch.topic, batch.partition, record);
      put(batch, record, []);
    }
    await writeBlock(batch.topic, [batch]);
    return undefined;
  }

  /** A topic's partitions hold no more than a full block, what is being written included: others wait for that. */
  async function makeRoom(at: TopicPartition): Promise<void> {
    while (isFull(at.topic)) {
      const running = writing.get(at.topic);
      if (running === undefined) return void write(at.topic);
      if (running.names.has(nameOf(at))) return;
      await running.done;
    }
  }

  function waitingIn(topic: string): [TopicPartition, Gathered<Row>][] {
    const all = consumption?.assigned() ?? [];
    return all.flatMap((at): [TopicPartition, Gathered<Row>][] => {
      const gathered = at.topic === topic ? open.get(nameOf(at)) : undefined;
      return gathered === undefined ? [] : [[at, gathered]];
    });
  }

  function isFull(topic: string): boolean {
    let held = { rows: 0, bytes: 0 };
    for (const [, { rows, bytes }] of waitingIn(topic)) {
      held = { rows: held.rows + rows.length, bytes: held.bytes + bytes };
    }
    return held.rows >= options.blockRowsMax || held.bytes >= options.blockBytesMax;
  }

  /** Writes what the partitions of a topic have, if anything, unless that is being done. */
  async function write(topic: string): Promise<void> {
    if (consumption === null || writing.has(topic)) return;
    const some = waitingIn(topic)
      .toSorted(([, one], [, other]) => one.openedMs - other.openedMs)
      .slice(0, PLAN_PARTITIONS_MAX);
    // What was taken may be of a partition that is somebody else's by now.
    if (some.length === 0) return;
    begunMs.set(topic, options.nowMs());
    const done = together(
      consumption,
      some.map(([at]) => at),
      (ours) => writeBlock(topic, ours),
    ).finally(() => writing.delete(topic));
    writing.set(topic, { names: new Set(some.map(([at]) => nameOf(at))), done });
    await done;
  }

  async function writeBlock(topic: string, partitions: readonly TopicPartition[]): Promise<void> {
    if (consumption === null) throw new Error('sink not running');
    const parts = new Map<number, Gathered<Row>>();
    for (const at of partitions) {
      const gathered = open.get(nameOf(at));
      if (gathered !== undefined) parts.set(at.partition, gathered);
    }
    if (parts.size === 0) return;
    const plan = planOf(parts);
    if (plan.size > 0) {
      const metadata = writePlan(plan);
      await consumption.commitAll(
        [...plan].map(([partition, { first }]) => ({ topic, partition, offset: first, metadata })),
      );
      for (const [partition, { first }] of plan) offsets.passed({ topic, partition }, { offset: first, metadata });
      failpoint('sink.after_plan');
      const rows = rowsOf(plan, (partition) => parts.get(partition)?.rows ?? []);
      await watchdog.watch('an insert', (progressed) =>
        options.insert(topic, tokenOf(topic, plan), rows, false, progressed),
      );
    }
    failpoint('sink.after_insert');
    await consumption.commitAll(
      [...parts].map(([partition, { next }]) => ({ topic, partition, offset: next, metadata: '' })),
    );
    failpoint('sink.after_commit');
    for (const [partition, { rows, next }] of parts) {
      offsets.passed({ topic, partition }, { offset: next, metadata: '' });
      open.delete(nameOf({ topic, partition }));
      options.committed(topic, partition, rows);
    }
  }

  consumption = await consume({ ...options, handlers: { acquire, process: guard.process } });
  const running = consumption;
  begun.resolve(running);
  const timer = setInterval(
    () => {
      for (const topic of options.topics) {
        if (pacesSince(topic) >= OVERDUE_PACES) void write(topic);
      }
    },
    Math.max(25, options.blockPaceMs / LOOKS_PER_PACE),
  );
  return {
    ...running,
    async stop() {
      clearInterval(timer);
      await running.stop();
    },
  };
}
