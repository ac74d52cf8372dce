// Settles the counts of accepted events into months, and writes them as usage records; partitions are opened from these, and restored
// where Redis has lost them.

import { randomUUID } from 'node:crypto';
import { createMutex, type Mutex } from '#infra/concurrency/gates.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { endOf, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import { followTopic } from '#infra/kafka/follow_topic.ts';
import { committed, topicOffsets } from '#infra/kafka/offsets.ts';
import type { KeyedProducer } from '#infra/kafka/producers.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { Tracer } from '#infra/tracing/tracer.ts';
import { isClosed } from '#pipelines/quota/limits.ts';
import {
  type AccountMonth,
  byLog,
  type Checkpoint,
  countedEvents,
  isSameTopic,
  NOTHING_SETTLED,
  type QuotaStore,
  type Settled,
  type SettledUsage,
  type Settlement,
  settlementsOf,
} from '#pipelines/quota/settle.ts';
import { createDeadLetter } from '#pipelines/redelivery/dead_letter.ts';
import type { DeadLetter, QuotaCounts, QuotaUsage } from '#schemas/records.ts';
import { partitionOf } from '#schemas/wire.ts';
import { beginBatchSpans } from '#services/stage/batch_spans.ts';
import { count, deadRecords, emptyBatchCounts, publishBatchCounts } from '#services/stage/batches.ts';
import type { Runtime } from '#services/stage/runtime.ts';

export type Partitions = ReturnType<typeof createPartitions>;

/** For what nobody watches. */
const ALONE = (): void => undefined;

/**
 * The partitions of events.raw whose settlement is this process's. Redis is an index: quota.usage has the truth. What was
 * settled is held in memory too and goes with every settlement, so that a counter that was lost is put back first. A checkpoint
 * for each partition, written last, tells of a loss in counters that nothing is settled in.
 */
export function createPartitions(options: PartitionsOptions) {
  const { store } = options;
  const states = new Map<number, PartitionState>();
  const mutexes = new Map<number, Mutex>();

  /** One after the other on a partition. */
  function inTurn<T>(partition: number, work: () => Promise<T>): Promise<T> {
    const mutex = mutexes.get(partition) ?? createMutex();
    mutexes.set(partition, mutex);
    return mutex.run(work);
  }

  async function load(partition: number, progressed: () => void = ALONE): Promise<PartitionState> {
    const { state, checkpoint } = await readPartition(options, partition);
    states.set(partition, state);
    await restoreIfLost(options, partition, state, checkpoint, progressed);
    return state;
  }

  async function checkOne(partition: number): Promise<void> {
    const state = states.get(partition);
    if (state === undefined) await load(partition);
    else await restoreIfLost(options, partition, state, (await store.checkpoints()).get(partition), ALONE);
  }

  return {
    /** To be called when a partition was assigned: reads what is settled of it. Calls `progressed` as it goes on. */
    load: (partition: number, progressed?: () => void): Promise<void> =>
      inTurn(partition, async () => {
        await load(partition, progressed);
      }),
    /**
     * Settles up to an offset of an events.raw, and writes the checkpoint once `done` has resolved; answers the next offset
     * of events.raw to settle.
     */
    settle: (
      partition: number,
      settlements: readonly Settlement[],
      { settledOffset, log }: { settledOffset: number; log: string },
      done: (settled: readonly Settled[]) => Promise<void>,
    ): Promise<number> =>
      inTurn(partition, async () => {
        const state = states.get(partition) ?? (await load(partition));
        takeUp(state, log);
        const settled = await Promise.all(settlements.map((settlement) => settleOne(store, settlement, state)));
        await done(settled);
        state.settledOffset = Math.max(state.settledOffset, settledOffset);
        if (!(await store.checkpoint(partition, state.settledOffset, state.generation)))
          await restoreIfLost(options, partition, state, undefined, ALONE);
        return state.settledOffset;
      }),
    /** Puts back what Redis has lost of these partitions, and forgets those that are not among them. */
    async check(assigned: readonly number[]): Promise<void> {
      for (const partition of states.keys()) if (!assigned.includes(partition)) states.delete(partition);
      // Side by side, as learning reads a topic to its end and those that come together share that.
      await Promise.all(assigned.map((partition) => inTurn(partition, () => checkOne(partition))));
    },
  };
}

/** What is settled of one partition of events.raw. */
interface PartitionState {
  known: KnownUsage;
  /** Next offset of events.raw that is not settled. */
  settledOffset: number;
  /** The id of the events.raw that was counted last; empty while it is not known. */
  log: string;
  /** The generation of the counters that all of `known` is in. */
  generation: string;
}

interface PartitionsOptions {
  store: QuotaStore;
  /** A name that was never given before. */
  newGeneration(): string;
  readFacts(): Promise<UsageFacts>;
  /** Next offset of events.raw that was not settled at the last commit, or its end where that lies before. */
  committedOffset(partition: number): Promise<number>;
  isClosed(month: string): boolean;
  /** Called when counters were found lost and are put back. */
  onRestored(partition: number): void;
  logger: Logger;
}

/** Reads what is settled of a partition, from Kafka, and its checkpoint, from Redis. */
async function readPartition(
  options: PartitionsOptions,
  partition: number,
): Promise<{ state: PartitionState; checkpoint: Checkpoint | undefined }> {
  // First, as nothing need be read while Redis is away.
  const checkpoint = (await options.store.checkpoints()).get(partition);
  const settledOffset = await options.committedOffset(partition);
  const facts = await options.readFacts();
  const known = facts.get(partition) ?? new Map();
  return { state: { known, settledOffset, log: '', generation: checkpoint?.generation ?? '' }, checkpoint };
}

/** Settles against what is known of the month, and knows it afterwards. */
async function settleOne(store: QuotaStore, settlement: Settlement, { known }: PartitionState): Promise<Settled> {
  const name = nameOfMonth(settlement);
  const settled = await store.settle(settlement, known.get(name) ?? NOTHING_SETTLED);
  const { accountId, month } = settlement;
  const { used, settledOffset, log } = settled;
  known.set(name, { accountId, month, used, settledOffset, log });
  return settled;
}

/** Takes up counts of an events.raw; of one that was made anew under its name nothing is settled yet. */
function takeUp(state: PartitionState, log: string): void {
  if (!isSameTopic(state.log, log)) state.settledOffset = 0;
  if (log !== '') state.log = log;
}

/** Puts a partition's counters back, unless the checkpoint in Redis shows that it has them. Calls `progressed` as it goes on. */
async function restoreIfLost(
  options: PartitionsOptions,
  partition: number,
  state: PartitionState,
  checkpoint: Checkpoint | undefined,
  progressed: () => void,
): Promise<void> {
  // Without a generation a master was lost since, on which counters lay.
  const { generation } = state;
  if (generation !== '' && checkpoint?.generation === generation && checkpoint.nextOffset >= state.settledOffset)
    return;
  for (const [name, { month }] of state.known) if (options.isClosed(month)) state.known.delete(name);
  do await putBack(options, partition, state, progressed);
  while (!(await options.store.checkpoint(partition, state.settledOffset, state.generation)));
  if (state.settledOffset === 0) return;
  options.logger.warn({ partition, months: state.known.size }, 'restoring lost counters');
  options.onRestored(partition);
}

/** Accounts' months that are put back side by side. */
const MONTHS_AT_ONCE = 500;

async function putBack(
  { store, newGeneration }: PartitionsOptions,
  partition: number,
  state: PartitionState,
  progressed: () => void,
): Promise<void> {
  state.generation = newGeneration();
  await store.begin(partition, state.generation);
  const months = [...state.known.values()];
  for (let at = 0; at < months.length; at += MONTHS_AT_ONCE) {
    await Promise.all(
      months.slice(at, at + MONTHS_AT_ONCE).map(async ({ accountId, month, log }) => {
        await settleOne(store, { accountId, month, partition, log, ranges: [], newestMs: 0 }, state);
        await store.dropReservations({ accountId, month });
      }),
    );
    progressed();
  }
}

/** The partitions as Kafka knows them: usage from quota.usage, where settling goes on from the group's metadata. */
export function openPartitions(
  { stage, session, logger, fatal }: Runtime,
  store: QuotaStore,
  usage: Codec<QuotaUsage>,
  onRestored: () => void,
): Partitions {
  const groupId = session.groupOf(stage);
  const hasClosed = (month: string): boolean => isClosed(month, Date.now());
  return createPartitions({
    newGeneration: randomUUID,
    store,
    readFacts: createUsageReader({ session, codec: usage, logger, isClosed: hasClosed, onFatal: fatal }),
    committedOffset: async (partition) => {
      const found = await committed(session.admin, groupId, { topic: TOPICS.counts, partition });
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      const end = Number(ends.find((one) => one.partition === partition)?.high ?? 0);
      // A topic that was made anew ends before what was settled of the one before it.
      return Math.min(Number(found?.metadata ?? 0), end);
    },
    isClosed: hasClosed,
    onRestored,
    logger,
  });
}

/** What is known to be settled of one partition, by account and month. */
export type KnownUsage = Map<string, AccountMonth & SettledUsage>;

/** What was published last, by partition of events.raw. */
type UsageFacts = ReadonlyMap<number, KnownUsage>;

export function nameOfMonth({ accountId, month }: AccountMonth): string {
  return `${accountId} ${month}`;
}

/**
 * Reads quota.usage to its end. The newest fact of an account's month and partition counts; closed months are left out.
 *
 * A caller that comes while it is being read gets the reading after that: what was published before the call is in it.
 */
function createUsageReader(options: {
  session: KafkaSession;
  codec: Codec<QuotaUsage>;
  logger: Logger;
  isClosed(month: string): boolean;
  onFatal(error: unknown): void;
}): () => Promise<UsageFacts> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<UsageFacts> | null = null;
  return () => {
    next ??= running.then(() => {
      const reading = readUsage(options);
      next = null;
      running = reading.catch(() => undefined);
      return reading;
    });
    return next;
  };
}

async function readUsage(options: Parameters<typeof createUsageReader>[0]): Promise<UsageFacts> {
  const { session, codec, logger, isClosed, onFatal } = options;
  const facts = new Map<number, KnownUsage>();
  const following = await followTopic({
    kafka: session.kafka,
    topic: TOPICS.usage,
    groupPrefix: session.config.prefix,
    onFatal,
    async onRecord(key, value) {
      if (value === null) return;
      const decoded = await codec.decode(value);
      if (!decoded.ok) logger.error({ key, reason: decoded.reason }, 'skipping invalid usage record');
      else if (!isClosed(decoded.value.month)) keep(facts, decoded.value);
    },
  });
  await following.stop();
  return facts;
}

function keep(facts: Map<number, KnownUsage>, fact: QuotaUsage): void {
  const known = facts.get(fact.partition) ?? new Map();
  facts.set(fact.partition, known);
  const { account_id: accountId, month, used, settled_offset: settledOffset, log } = fact;
  const one = { accountId, month, used, settledOffset, log };
  const name = nameOfMonth(one);
  const before = known.get(name);
  // Of another events.raw the later fact is the newer one, whatever its offset.
  const isNewer = before === undefined || !isSameTopic(before.log, one.log) || before.settledOffset < one.settledOffset;
  if (isNewer) known.set(name, one);
}

interface SettlementOptions {
  partitions: Pick<Partitions, 'settle'>;
  counts: Codec<QuotaCounts>;
  usage: Codec<QuotaUsage>;
  deadLetters: Codec<DeadLetter>;
  producer: Pick<KeyedProducer, 'send'>;
  metrics: QuotaMetrics;
  tracer: Tracer | null;
  groupId: string;
  /** Of the topics of usage and dead letters. */
  smallPartitions: number;
}

/**
 * Settles a batch of quota.counts in Redis, publishes usage and dead letters, then commits its offset, in whose metadata
 * the next offset of events.raw to settle is kept.
 */
export function createSettlement(options: SettlementOptions) {
  const { partitions, counts, usage, deadLetters, producer, metrics, tracer, groupId, smallPartitions } = options;
  return async (
    batch: InBatch,
    commit: (offset: number, nextRawOffset: string) => Promise<void>,
  ): Promise<undefined> => {
    const startedMs = Date.now();
    if (batch.records.length === 0) return undefined;
    const spans = beginBatchSpans(tracer, batch, { groupId, startMs: startedMs });
    const read = await readCounts(batch, counts, startedMs);
    const events = countedEvents(read.counts);
    const tally = emptyBatchCounts();
    const deadLetterRecords = deadRecords('quota', read.dead, deadLetters, tally, smallPartitions);
    let checkpointed = 0;
    for (const counted of byLog(read.counts)) {
      const settlements = settlementsOf(counted);
      const upTo = { settledOffset: counted.at(-1)?.next_offset ?? 0, log: counted[0]?.log ?? '' };
      checkpointed = await partitions.settle(batch.partition, settlements, upTo, async (settled) => {
        failpoint('quota.after_settle');
        await producer.send([
          ...deadLetterRecords.splice(0),
          ...usageRecords(settlements, settled, usage, smallPartitions),
        ]);
        failpoint('quota.after_usage');
      });
    }
    await commit(endOf(batch), String(checkpointed));
    failpoint('quota.after_commit');
    tally.in += events.unique;
    tally.passed = events.unique - events.withoutAccount;
    if (events.withoutAccount > 0) count(tally.dropped, 'no_account', events.withoutAccount);
    metrics.settled(tally.passed);
    if (events.duplicate > 0) metrics.released('duplicate', events.duplicate);
    publishBatchCounts(metrics.stage, tally, startedMs, Date.now());
    spans?.end(Date.now());
    return undefined;
  };
}

/** The readable records of a batch of quota.counts, and dead letters for the others: each is read by itself. */
export async function readCounts(batch: InBatch, codec: Codec<QuotaCounts>, nowMs: number) {
  const read: { counts: QuotaCounts[]; dead: DeadLetter[] } = { counts: [], dead: [] };
  for (const { offset, value } of batch.records) {
    const decoded = await codec.decode(value);
    if (decoded.ok) read.counts.push(decoded.value);
    else {
      const place = { stage: 'quota', topic: batch.topic, partition: batch.partition, offset, index: -1 };
      read.dead.push(createDeadLetter(place, decoded.reason, '', value, nowMs));
    }
  }
  return read;
}

/** What is published of settlements; the same place for the same account, month and partition. */
function usageRecords(
  settlements: readonly Settlement[],
  settled: readonly SettledUsage[],
  codec: Codec<QuotaUsage>,
  partitions: number,
): OutRecord[] {
  return settlements.map((settlement, index) => {
    const { accountId, month, partition, newestMs } = settlement;
    const { used, settledOffset, log } = settled[index] as SettledUsage;
    const key = `${accountId}/${month}/${partition}`;
    const place = { settled_offset: settledOffset, log };
    const fact = { account_id: accountId, month, partition, used, ...place, settled_at: newestMs };
    return { topic: TOPICS.usage, partition: partitionOf(key, partitions), key, value: codec.encode(fact) };
  });
}

export type QuotaMetrics = ReturnType<typeof createQuotaMetrics>;

/** What quota counts beside the flow of events. */
export function createQuotaMetrics(stage: Metrics) {
  const settled = stage.counter('svc_quota_settled_total', 'Unique events settled against an allowance', []);
  const released = stage.counter('svc_quota_released_total', 'Reserved events that were released', ['reason']);
  const restored = stage.counter('svc_quota_restored_total', 'Partitions whose lost counters were restored', []);
  return {
    stage,
    settled: (events: number): void => settled.inc(events),
    /** Reserved events that were released: `duplicate`, or `never_arrived` where their edge died. */
    released: (reason: 'duplicate' | 'never_arrived', events: number): void => released.inc({ reason }, events),
    restored: (): void => restored.inc(),
  };
}
