// Writes each record once to a store without transactions: a block's plan is committed before its insert (write-ahead), and is finished by whoever owns the partitions next.

import type { Admin } from 'kafkajs';
import { createWatchdog, WATCHDOG_MS, type Watchdog } from '#infra/concurrency/time_limits.ts';
import { failpoint } from '#infra/failpoint.ts';
import {
  type BlockPlan,
  type Gathered,
  gather,
  gatherFrom,
  logOfPlan,
  PLAN_PARTITIONS_MAX,
  planOf,
  readPlan,
  rowsOf,
  tokenOf,
  writePlan,
} from '#pipelines/warehouse/block.ts';
import { consume } from './consumer/consume.ts';
import { type ConsumeOptions, type Consumption, endOf, type InBatch } from './consumer/consumption.ts';
import { nameOf, type TopicPartition } from './consumer/partition_state.ts';
import { createPoisonPillGuard, type PoisonPillGuard, type ProcessingStep } from './consumer/poison_pill_guard.ts';
import {
  createGroupOffsets,
  type GroupOffsets,
  type OffsetBackup,
  openOffsetMarks,
  openTopicIds,
  type TopicIds,
} from './offsets.ts';
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
  const logs = await openTopicIds(options.kafka);
  const marks = await openOffsetMarks(options, logs);
  const sink = createSinkState(options, logs, marks);
  const guard = guardOf(sink);
  const running = await consume({
    ...options,
    handlers: {
      acquire: (at, _generation, progressed) =>
        resume(sink, at, (metadata) => guard.acquired(at, metadata), progressed),
      process: guard.process,
    },
  });
  sink.consumption = running;
  sink.started.resolve(running);
  const timer = setInterval(
    () => writeOverdue(sink),
    Math.max(LOOK_MS_MIN, options.flushIntervalMs / LOOKS_PER_INTERVAL),
  );
  return {
    ...running,
    async stop() {
      clearInterval(timer);
      await running.stop();
      await marks.close();
      await logs.close();
    },
  };
}

function guardOf<Row>(sink: SinkState<Row>): PoisonPillGuard {
  const { deadLetter, logger } = sink.options;
  return createPoisonPillGuard({
    commitMetadata: (batch, offset, metadata) => commitMetadata(sink, batch, offset, metadata),
    process: (batch) => gatherBatch(sink, batch),
    processSearched: (batch, kind) => gatherSearched(sink, batch, kind),
    deadLetter: deadLetter && ((batch) => deadLetterBatch(sink, batch)),
    logger,
  });
}

/** Of what `consume` asks for, what the stage says. `watchdogMs` holds for inserts too. */
type ConsumedBy = Pick<
  ConsumeOptions,
  | 'kafka'
  | 'groupId'
  | 'topics'
  | 'sessionTimeoutMs'
  | 'concurrency'
  | 'fetchBytesMin'
  | 'watchdogMs'
  | 'logger'
  | 'onSkipped'
  | 'onFatal'
>;

export interface SinkOptions<Row> extends ConsumedBy {
  admin: Admin;
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
   * written with the first batch that comes `flushIntervalMs` or more after the last block was begun, or a quarter of that
   * time later if no batch comes. Records come in bursts, one for each transaction; a block that ended in the middle of a
   * burst would leave its rest to the next block.
   */
  blockRowsMax: number;
  blockBytesMax: number;
  flushIntervalMs: number;
  /** Called when the rows of a partition are written and its offset is committed. */
  committed(topic: string, partition: number, rows: readonly Row[]): void;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

/** Makes rows of a batch. They wait for the topic's next block, which is begun here if it is due. */
async function gatherBatch<Row>(sink: SinkState<Row>, batch: InBatch): Promise<undefined> {
  const { converting, open, options } = sink;
  const { topic } = batch;
  converting.set(topic, (converting.get(topic) ?? 0) + 1);
  try {
    for (const record of batch.records) {
      put(sink, batch, record, await options.toRows(topic, batch.partition, record));
    }
    const gathered = open.get(nameOf(batch));
    if (gathered !== undefined) gathered.next = Math.max(gathered.next, endOf(batch));
  } finally {
    converting.set(topic, (converting.get(topic) ?? 0) - 1);
  }
  // The partitions of one fetch go into one block.
  if (converting.get(topic) === 0 && intervalsSince(sink, topic) >= 1) void writeTopic(sink, topic);
  await awaitCapacity(sink, batch);
  return undefined;
}

/** Commits metadata at an offset. Nothing of the partition is gathered yet when its first batch after a start comes. */
async function commitMetadata<Row>(
  { offsets, started }: SinkState<Row>,
  at: TopicPartition,
  offset: number,
  metadata: string,
): Promise<void> {
  const consumption = await started.promise;
  await consumption.commit(at, offset, metadata);
  offsets.passed(at, { offset, metadata });
}

/**
 * Gathers records among which a poison pill may be: to make rows is what may kill the process. They are written like all
 * others, and at once where metadata is to be committed behind them.
 */
async function gatherSearched<Row>(
  sink: SinkState<Row>,
  batch: InBatch,
  kind: ProcessingStep['kind'],
): Promise<undefined> {
  await gatherBatch(sink, batch);
  await commitMetadata(sink, batch, batch.records[0]?.offset ?? 0, '');
  if (kind !== 'batch') await writeBlock(sink, batch.topic, [batch]);
  return undefined;
}

/** Makes a dead letter of each record, and commits the offset behind them. */
async function deadLetterBatch<Row>(sink: SinkState<Row>, batch: InBatch): Promise<undefined> {
  for (const record of batch.records) {
    await sink.options.deadLetter?.(batch.topic, batch.partition, record);
    put(sink, batch, record, []);
  }
  await writeBlock(sink, batch.topic, [batch]);
  return undefined;
}

function put<Row>({ open, options }: SinkState<Row>, batch: InBatch, record: InRecord, rows: readonly Row[]): void {
  const gathered = open.get(nameOf(batch)) ?? gatherFrom<Row>(record.offset, 0);
  open.set(nameOf(batch), gathered);
  if (gathered.first === null) gathered.openedMs = options.nowMs();
  gather(gathered, record.offset, rows, record.value?.length ?? 0);
}

/** In flush intervals since the last block was begun: what waits is then written, whether a batch comes or not. */
const OVERDUE_INTERVALS = 1.25;

/** Flush intervals since the topic's last block was begun. Until the first one, since the start of the process. */
function intervalsSince<Row>({ options, begunMs, startedMs }: SinkState<Row>, topic: string): number {
  return (options.nowMs() - (begunMs.get(topic) ?? startedMs)) / options.flushIntervalMs;
}

/** Begins a block of each topic whose rows have waited too long. */
function writeOverdue<Row>(sink: SinkState<Row>): void {
  for (const topic of sink.options.topics) {
    if (intervalsSince(sink, topic) >= OVERDUE_INTERVALS) void writeTopic(sink, topic);
  }
}

/** Writes the rows of a topic's partitions in one block, if there are any and no block of it is being written. */
async function writeTopic<Row>(sink: SinkState<Row>, topic: string): Promise<void> {
  const { consumption, writing } = sink;
  if (consumption === null || writing.has(topic)) return;
  const some = waitingIn(sink, topic)
    .toSorted(([, one], [, other]) => one.openedMs - other.openedMs)
    .slice(0, PLAN_PARTITIONS_MAX);
  // Rows that were gathered may be of a partition that is another member's by now.
  if (some.length === 0) return;
  sink.begunMs.set(topic, sink.options.nowMs());
  const done = runAtBarrier(
    consumption,
    some.map(([at]) => at),
    (ours) => writeBlock(sink, topic, ours),
  ).finally(() => writing.delete(topic));
  writing.set(topic, { names: new Set(some.map(([at]) => nameOf(at))), done });
  await done;
}

/** Waits while a topic's partitions hold a full block or more, the one that is being written included. */
async function awaitCapacity<Row>(sink: SinkState<Row>, at: TopicPartition): Promise<void> {
  while (isFull(sink, at.topic)) {
    const running = sink.writing.get(at.topic);
    if (running === undefined) return void writeTopic(sink, at.topic);
    if (running.names.has(nameOf(at))) return;
    await running.done;
  }
}

function waitingIn<Row>({ consumption, open }: SinkState<Row>, topic: string): [TopicPartition, Gathered<Row>][] {
  const all = consumption?.assigned() ?? [];
  return all.flatMap((at): [TopicPartition, Gathered<Row>][] => {
    const gathered = at.topic === topic ? open.get(nameOf(at)) : undefined;
    return gathered === undefined ? [] : [[at, gathered]];
  });
}

function isFull<Row>(sink: SinkState<Row>, topic: string): boolean {
  let held = { rows: 0, bytes: 0 };
  for (const [, { rows, bytes }] of waitingIn(sink, topic)) {
    held = { rows: held.rows + rows.length, bytes: held.bytes + bytes };
  }
  return held.rows >= sink.options.blockRowsMax || held.bytes >= sink.options.blockBytesMax;
}

/** Plans, inserts and commits one block of the rows of these partitions. Runs in their turns only. */
async function writeBlock<Row>(
  sink: SinkState<Row>,
  topic: string,
  partitions: readonly TopicPartition[],
): Promise<void> {
  const { consumption, open } = sink;
  if (consumption === null) throw new Error('sink not running');
  const parts = new Map<number, Gathered<Row>>();
  for (const at of partitions) {
    const gathered = open.get(nameOf(at));
    if (gathered !== undefined) parts.set(at.partition, gathered);
  }
  if (parts.size === 0) return;
  const plan = planOf(parts);
  if (plan.size > 0) {
    await announce(sink, consumption, topic, plan);
    await insert(sink, topic, plan, parts);
  }
  failpoint('sink.after_insert');
  await commit(sink, consumption, topic, parts);
}

/** Writes the plan into the metadata of each partition's committed offset, which stays where it is. */
async function announce<Row>(
  { offsets, logOf }: SinkState<Row>,
  consumption: Consumption,
  topic: string,
  plan: BlockPlan,
): Promise<void> {
  const metadata = writePlan(plan, logOf.get(topic));
  await consumption.commitAll(
    [...plan].map(([partition, { first }]) => ({ topic, partition, offset: first, metadata })),
  );
  for (const [partition, { first }] of plan) offsets.passed({ topic, partition }, { offset: first, metadata });
  failpoint('sink.after_plan');
}

async function insert<Row>(
  { options, watchdog, logOf }: SinkState<Row>,
  topic: string,
  plan: BlockPlan,
  parts: ReadonlyMap<number, Gathered<Row>>,
): Promise<void> {
  const rows = rowsOf(plan, (partition) => parts.get(partition)?.rows ?? []);
  await watchdog.watch('an insert', (progressed) =>
    options.insert(topic, tokenOf(topic, plan, logOf.get(topic)), rows, false, progressed),
  );
}

async function commit<Row>(
  { options, offsets, open }: SinkState<Row>,
  consumption: Consumption,
  topic: string,
  parts: ReadonlyMap<number, Gathered<Row>>,
): Promise<void> {
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

/**
 * Reads the committed offset of a partition that was acquired. If its metadata holds the plan of a block, that block is
 * inserted first, whoever planned it, and the partition goes on behind its range.
 */
async function resume<Row>(
  sink: SinkState<Row>,
  at: TopicPartition,
  onFound: (metadata: string) => void,
  progressed: () => void,
): Promise<number | null> {
  sink.open.delete(nameOf(at));
  const log = await sink.logs.of(at.topic);
  sink.logOf.set(at.topic, log);
  const found = await sink.offsets.of(at);
  onFound(found?.metadata ?? '');
  const planned = logOfPlan(found?.metadata ?? '');
  // What was planned of a topic that was there before under the name is gone with it.
  const isOurs = planned === '' || log === '' || planned === log;
  const plan = found === null || !isOurs ? null : readPlan(found.metadata);
  const own = plan?.get(at.partition);
  if (plan === null || own === undefined) return found === null ? null : found.offset;
  await recoverBlock(sink, at.topic, plan, tokenOf(at.topic, plan, planned), progressed);
  sink.open.set(nameOf(at), gatherFrom(own.last + 1, 0));
  return own.last + 1;
}

/** Finishes a block once for all its partitions; each that waits for it is told of its progress. */
function recoverBlock<Row>(
  { finished, options }: SinkState<Row>,
  topic: string,
  plan: BlockPlan,
  token: string,
  progressed: () => void,
): Promise<void> {
  const known = finished.get(token);
  known?.waiting.add(progressed);
  if (known !== undefined) return known.done;
  const waiting = new Set([progressed]);
  const done = finish(options, topic, plan, token, () => {
    for (const tell of waiting) tell();
  }).finally(() => waiting.clear());
  finished.set(token, { done, waiting });
  // A failure is its caller's to see; the next one tries again.
  done.catch(() => finished.delete(token));
  return done;
}

async function finish<Row>(
  options: SinkOptions<Row>,
  topic: string,
  plan: BlockPlan,
  token: string,
  progressed: () => void,
): Promise<void> {
  options.logger.info({ token }, 'finishing the planned block');
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

/** The state of a sink in one process. The functions below are the steps that change it. */
interface SinkState<Row> {
  readonly options: SinkOptions<Row>;
  readonly offsets: GroupOffsets;
  readonly watchdog: Watchdog;
  readonly logs: Pick<TopicIds, 'of'>;
  /** The id of each topic, as it was when one of its partitions was acquired last. */
  readonly logOf: Map<string, string>;
  /** Rows of each partition that are not written yet, by its name. */
  readonly open: Map<string, Gathered<Row>>;
  /** The block of each topic that is being written. */
  readonly writing: Map<string, Writing>;
  readonly startedMs: number;
  /** When the last block of each topic was begun. */
  readonly begunMs: Map<string, number>;
  /** How many batches of each topic are being made into rows. */
  readonly converting: Map<string, number>;
  /** Planned blocks, by token, that this process finishes or has finished: their other partitions need not insert them. */
  readonly finished: Map<string, Finishing>;
  /** Resolves when the consumer runs. */
  readonly started: PromiseWithResolvers<Consumption>;
  consumption: Consumption | null;
}

/** A planned block that is being finished, or is, and how to tell the partitions that wait for it of its progress. */
interface Finishing {
  done: Promise<void>;
  waiting: Set<() => void>;
}

/** A block of a topic that is being written. */
interface Writing {
  /** The partitions in it, by name; they rest until it is done. */
  names: Set<string>;
  done: Promise<void>;
}

function createSinkState<Row>(
  options: SinkOptions<Row>,
  logs: Pick<TopicIds, 'of'>,
  marks: OffsetBackup,
): SinkState<Row> {
  return {
    options,
    offsets: createGroupOffsets(options.admin, options.groupId, marks),
    watchdog: createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal }),
    logs,
    logOf: new Map(),
    open: new Map(),
    writing: new Map(),
    startedMs: options.nowMs(),
    begunMs: new Map(),
    converting: new Map(),
    finished: new Map(),
    started: Promise.withResolvers(),
    consumption: null,
  };
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
