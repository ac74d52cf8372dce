import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { Environment } from '#infra/config/environment.ts';
import type { ProcessConfig, RedisParts } from '#infra/config/service_config.ts';
import { FETCH_BYTES_MIN, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { fenceStage } from '#infra/kafka/producers.ts';
import { type ReadBackOptions, readBack } from '#infra/kafka/read_topic.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { runTransactionalStage, type TransformResult } from '#infra/kafka/transactional_stage.ts';
import type { Redis } from '#infra/redis/connection.ts';
import type { IndexEpoch } from '#infra/redis/indexes/index_epoch.ts';
import { createRebuildableIndex } from '#infra/redis/indexes/rebuildable_index.ts';
import { watchServerHealth } from '#infra/redis/inspect.ts';
import { createCodec, type EventBatchReader } from '#infra/registry/codec.ts';
import { ERASED, type SuppressionList } from '#pipelines/erasure/suppression.ts';
import type { SourcePosition } from '#schemas/event.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { type BatchSpans, beginBatchSpans } from './batch_spans.ts';
import {
  type BatchCounts,
  count,
  deadLetterResult,
  deadRecords,
  emptyBatchCounts,
  isolatePoisonPills,
  type PoisonPillWork,
  publishBatchCounts,
  type ReadRecord,
  readRecords,
  viewsIn,
} from './batches.ts';
import { openRedis, openSuppressionList, type Runtime } from './runtime.ts';
import { consumerOptions, runStage } from './stage.ts';

/** An event as a stage works on it. */
export interface StageEvent {
  view: EncodedEvent;
  /** Null where the event came without one. */
  coordinate: SourcePosition | null;
}

/** A batch of a partition, and the records of it that could be read. */
export interface BatchRead {
  batch: InBatch;
  records: readonly ReadRecord[];
  /** Null where nothing of it is traced. */
  spans: BatchSpans | null;
}

/** What a stage over events decides, and what it writes; the steps around that are the same for all of them. */
export interface EventStage<Event extends StageEvent, Decision> {
  /** Topics of event batches. */
  reads: readonly string[];
  reader: EventBatchReader;
  /** Least time between the starts of two batches, in milliseconds; what arrives meanwhile goes into one batch. */
  lingerMs: number;
  /** The events of one readable record. */
  eventsOf(record: ReadRecord, batch: InBatch): Event[];
  /** Decides over events of a batch; again over parts of them, where one makes it throw. The same answer every time. */
  decide(events: readonly Event[]): Promise<Decision>;
  /** What goes out for the decisions, in the same transaction as the offsets. */
  write(decisions: readonly Decision[], batchRead: BatchRead): OutRecord[] | Promise<OutRecord[]>;
  /** What else goes out with the dead letter of a record that kills the process; nothing where it is absent. */
  writeBesideDeadLetter?(batch: InBatch): Promise<OutRecord[]>;
  /** How many events passed, and how many were dropped for which reason. */
  count(decisions: readonly Decision[]): { passed: number; dropped?: Readonly<Record<string, number>> };
  /** Called when the transaction has committed. */
  committed?(decisions: readonly Decision[]): void;
}

/**
 * Runs a stage over events: read, drop those of erased persons, isolate poison, decide, write and commit in one transaction, count.
 * A record that cannot be read, and an event that makes the decision throw, become dead letters, and their neighbours pass.
 */
export function runEventStage<C extends ProcessConfig & { identitySecret: Buffer }, Event extends StageEvent, Decision>(
  name: 'dedup' | 'identity',
  read: (env: Environment) => C,
  define: (runtime: Runtime, config: C, suppressed: SuppressionList) => Promise<EventStage<Event, Decision>>,
): void {
  runStage(name, read, async (runtime, config) => {
    const { metrics, registry, session, tracer } = runtime;
    const suppressed = await openSuppressionList(runtime, config.identitySecret);
    const stage = await define(runtime, config, suppressed);
    const dead = await createCodec<DeadLetter>(registry, deadTopic(name), 'dead_letter');

    async function transform(batch: InBatch): Promise<TransformResult> {
      const startedMs = Date.now();
      const spans = beginBatchSpans(tracer, batch, { groupId: session.groupOf(name), startMs: startedMs });
      const read = await readRecords(name, batch, batch.records, stage.reader, startedMs);
      const all = read.records.flatMap((record) => stage.eventsOf(record, batch));
      const events = suppressed.kept(all, ({ view }) => view);
      const work = { stage: name, batch, schemaId: stage.reader.schemaId, nowMs: startedMs };
      const decided = await isolatePoisonPills(
        work,
        events,
        (event) => event,
        (some) => stage.decide(some),
      );
      const tally = tallyOf(stage.count(decided.results), events, decided.dead.length);
      const erased = all.length - events.length;
      tally.in += erased;
      if (erased > 0) count(tally.dropped, ERASED, erased);
      const outputs = await stage.write(decided.results, { batch, records: read.records, spans });
      outputs.push(...deadRecords(name, [...read.dead, ...decided.dead], dead, tally, session.config.smallPartitions));
      return {
        outputs,
        committed() {
          stage.committed?.(decided.results);
          spans?.end(Date.now());
          publishBatchCounts(metrics, tally, startedMs, Date.now());
        },
      };
    }

    const poisonPills: PoisonPillWork = {
      ...{ stage: name, codec: dead, metrics, schemaId: stage.reader.schemaId },
      partitions: session.config.smallPartitions,
      viewsOf: async ({ value }) => viewsIn(await stage.reader.read(value)),
    };

    async function deadLetter(batch: InBatch): Promise<TransformResult> {
      const { outputs, committed } = await deadLetterResult(poisonPills, batch);
      return { outputs: [...outputs, ...((await stage.writeBesideDeadLetter?.(batch)) ?? [])], committed };
    }

    return runTransactionalStage({
      ...consumerOptions(runtime),
      fetchBytesMin: FETCH_BYTES_MIN,
      lingerMs: stage.lingerMs,
      admin: session.admin,
      offsetsTopic: TOPICS.stageOffsets,
      topics: stage.reads,
      partitionGroupSize: session.config.partitionGroupSize,
      transform,
      deadLetter,
    });
  });
}

/** Dead letters are added to it as they are written. */
function tallyOf(
  { passed, dropped = {} }: { passed: number; dropped?: Readonly<Record<string, number>> },
  events: readonly StageEvent[],
  poisonPills: number,
): BatchCounts {
  const tally = emptyBatchCounts();
  tally.in = events.length - poisonPills;
  tally.passed = passed;
  for (const [reason, number] of Object.entries(dropped)) if (number > 0) count(tally.dropped, reason, number);
  tally.oldestMs = events[0]?.view.receivedAtMs ?? null;
  return tally;
}

/** What a rebuild is given. */
export interface IndexRebuild {
  /** Records with an earlier timestamp (milliseconds since 1970 UTC) are not needed; null: all are. */
  sinceMs: number | null;
  /** By the clock of Redis as well. */
  nowMs: number;
  /** Reads back what a topic holds now. */
  read(topic: string, options: Pick<ReadBackOptions, 'sinceMs' | 'passed' | 'onRecords'>): Promise<void>;
  /** Counts what was restored, for the log. */
  count(restored: number): void;
}

interface StageIndexOptions<Index> {
  name: string;
  open(redis: Redis): Index & { epoch: IndexEpoch };
  /** Topics that the stage reads. Its open transactions on them are ended before a rebuild: what they rest on is lost. */
  reads: readonly string[];
  rebuild(index: Index, rebuild: IndexRebuild): Promise<void>;
}

/** Clocks of brokers and processes may differ by this; a record is stamped when it is produced, after it was decided. */
const CLOCKS_MS = 10 * 60_000;
const SAID_EVERY_MS = 5_000;
/** Everything is read back, and the index is not in use yet. */
const REBUILT_MAX = 0.99;

/**
 * Opens the index; resolves when it is whole, to it and to what runs a use of it. The process is not ready while it is not
 * whole. Before it is made again every open transaction of the stage is ended, whoever runs it: what it let pass by what is
 * lost could else be committed behind what is read here.
 */
export async function openStageIndex<Index>(
  runtime: Runtime,
  parts: RedisParts,
  { name, open, reads, rebuild }: StageIndexOptions<Index>,
): Promise<{ index: Index; use<T>(work: () => Promise<T>): Promise<T> }> {
  const { session, logger, metrics, stage } = runtime;
  const { kafka, admin, config } = session;
  const { redis, probe } = openRedis(runtime, parts);
  const index = open(redis);

  /** Of the topic that is read back now. */
  let rebuilt = 0;

  async function run(sinceMs: number | null, nowMs: number): Promise<void> {
    for (const topic of reads) {
      const { length } = await topicOffsets(admin, topic);
      await fenceStage(kafka, session.groupOf(stage), topic, length, config.partitionGroupSize);
    }
    const begunMs = monotonicMs();
    let saidMs = begunMs;
    let restored = 0;
    rebuilt = 0;
    const onProgress = (done: number, total: number): void => {
      rebuilt = total === 0 ? 0 : done / total;
      if (monotonicMs() - saidMs < SAID_EVERY_MS) return;
      saidMs = monotonicMs();
      const secondsLeft = done === 0 ? null : Math.ceil(((saidMs - begunMs) * (total - done)) / done / 1_000);
      const percent = Math.floor((100 * done) / total);
      logger.info({ index: name, restored, percent, secondsLeft }, 'rebuilding index');
    };
    await rebuild(index, {
      sinceMs: sinceMs === null ? null : sinceMs - CLOCKS_MS,
      nowMs,
      read: (topic, options) => readBack({ kafka, admin, topic, groupPrefix: config.prefix, onProgress, ...options }),
      count(more) {
        restored += more;
      },
    });
    logger.info({ index: name, restored }, 'index records read');
  }

  const whole = createRebuildableIndex({ name, redis, epoch: index.epoch, rebuild: run, logger });
  const rebuiltHelp = 'Share of an index in Redis that was rebuilt; 1: it is whole';
  metrics.read('svc_index_rebuilt_ratio', rebuiltHelp, ['index'], () => [
    [{ index: name }, whole.isWhole() ? 1 : Math.min(rebuilt, REBUILT_MAX)],
  ]);
  const stopHealth = watchServerHealth(redis, metrics);
  runtime.onStop(async () => {
    stopHealth();
    whole.stop();
  });
  runtime.parts.needs('redis', () => probe.isAlive() && whole.isReady());
  await whole.await();
  return { index, use: whole.use };
}
