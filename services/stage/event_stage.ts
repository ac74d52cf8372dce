import type { Environment } from '#infra/config/environment.ts';
import type { ProcessConfig } from '#infra/config/service_config.ts';
import { FETCH_BYTES_MIN, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { runTransactionalStage, type TransformResult } from '#infra/kafka/transactional_stage.ts';
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
import { openSuppressionList, type Runtime } from './runtime.ts';
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
