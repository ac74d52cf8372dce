import { randomInt } from 'node:crypto';
import type { OutRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS, type TopicCounts } from '#infra/kafka/topics.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { putNewest } from '#pipelines/delivery/concurrency.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliveryDeadlineMs } from '#pipelines/delivery/deliver.ts';
import { givenUp, isHandedOver, isSlowed, type Source } from '#pipelines/delivery/delivery_run.ts';
import {
  fieldsOfAim,
  nextRetry,
  pausedTopic,
  probeTopic,
  RETRY_DELAYS,
  type RetryChoice,
  type RetryDelay,
  replayTopic,
  retryTopicName,
  slowRetry,
} from '#pipelines/delivery/retry_topics.ts';
import { undeliveredDeadLetter } from '#pipelines/redelivery/dead_letter.ts';
import { createBatchWriter } from '#schemas/event_batch.ts';
import type {
  DeadLetter,
  DeliveryJobRecord,
  DeliveryOutcome,
  DeliveryOutcomes,
  PlatformAnswer,
} from '#schemas/records.ts';
import { traceHeaders } from '#schemas/trace_context.ts';
import { partitionOf } from '#schemas/wire.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import { type BatchCounts, count, deadRecords, emptyBatchCounts } from '#services/stage/batches.ts';
import type { Attempted } from './attempts.ts';
import { targetOf } from './job_reader.ts';

export type DeliveryOutput = Awaited<ReturnType<typeof createDeliveryOutput>>;

interface Written {
  outputs: OutRecord[];
  tally: BatchCounts;
  /** To be called once the records are committed. */
  committed(): void;
}

interface Codecs {
  eventSchemaId: number;
  outcomes: Codec<DeliveryOutcomes>;
  jobs: Codec<DeliveryJobRecord>;
  dead: Codec<DeadLetter>;
}

/** Outcomes in one record at the most. */
const OUTCOMES_MAX = 1_000;

/** Skips that say nothing of the event: not worth a row for every event of every site without the destination. */
const SILENT_SKIPS = new Set(['no_destination', 'destination_disabled', 'before_destination']);

/**
 * What comes from a retry topic or a replay would be waiting or dead for ever by its outcome before, were it not told of; but what is
 * paused as it was before is known to be.
 */
export function isSilent({ isMain, outcome, pausedFor }: Attempted): boolean {
  return isMain ? SILENT_SKIPS.has(outcome.reason) : outcome.outcome === 'paused' && outcome.reason === pausedFor;
}

/** Destinations of which a probe is remembered at the most; of one that is forgotten another event probes too. */
const PROBES_MAX = 100_000;

/** A record that was committed to a retry topic. */
export interface RetryRecord {
  retryTopic: Source;
  /** The destination of the site, by its `targetKey`. */
  target: string;
  waitsSinceMs: number;
  isPaused: boolean;
}

/** Turns attempts into records. `wrote` is told of those on retry topics; `random` answers from 0 to 1, for jitter. */
export async function createDeliveryOutput(
  registry: Registry,
  adapter: Adapter,
  { eventPartitions, smallPartitions }: Pick<TopicCounts, 'eventPartitions' | 'smallPartitions'>,
  wrote: (record: RetryRecord) => void,
  random: () => number = () => randomInt(1_000_000) / 1_000_000,
) {
  const codecs: Codecs = {
    eventSchemaId: await registry.idOf(TOPICS.identified, 'event_batch'),
    outcomes: await createCodec<DeliveryOutcomes>(registry, TOPICS.outcomes, 'delivery'),
    jobs: await createCodec<DeliveryJobRecord>(registry, replayTopic(adapter.name), 'delivery_job'),
    dead: await createCodec<DeadLetter>(registry, deadTopic('delivery'), 'dead_letter'),
  };

  /** When the event of a paused destination is due that probes; by its `targetKey`. */
  const probes = new Map<string, number>();

  /** Outcomes, retry topic records and dead letters of a batch of attempts. */
  function write(
    attempts: readonly Attempted[],
    dead: readonly DeadLetter[],
    nowMs: number,
    spans: BatchSpans | null = null,
  ): Written {
    const tally = emptyBatchCounts();
    tally.in = attempts.length;
    const jobs = new Map<string, { retryTopic: RetryDelay; dueAtMs: number; members: Attempted[] }>();
    const deadLetters = dead.map((deadLetter): DeadLetter => ({ destination: adapter.name, ...deadLetter }));
    const probing = new Map<string, number>();
    const isProbed = (target: string): boolean => probing.has(target) || (probes.get(target) ?? 0) > nowMs;
    const decided = attempts.map((one) => {
      const made = decide(adapter, one, isProbed(targetOf(one)), nowMs, random);
      if (made.isProbe && made.retryTopic !== null) probing.set(targetOf(one), made.retryTopic.dueAtMs);
      return made;
    });
    for (const { one, retryTopic } of decided) {
      const { outcome, reason } = one.outcome;
      if (retryTopic !== null) divert(one, retryTopic);
      else if (outcome === 'delivered') countDelivered(tally, one);
      else if (outcome === 'skipped') count(tally.dropped, reason);
      else deadLetters.push(deadLetterOf(codecs, one, nowMs));
    }

    function divert(one: Attempted, choice: ChosenRetry): void {
      count(tally.diverted, choice.retryTopic);
      const kind = `${nextAttempt(one)}/${pauseOf(one.outcome)}`;
      const name = `${one.siteId}/${one.destination}/${choice.retryTopic}/${kind}/${one.firstAttemptedAtMs}`;
      const job = jobs.get(name) ?? { retryTopic: choice.retryTopic, dueAtMs: choice.dueAtMs, members: [] };
      jobs.set(name, job);
      job.dueAtMs = Math.max(job.dueAtMs, choice.dueAtMs);
      job.members.push(one);
    }

    const laid = [...jobs.values()].map(({ retryTopic, dueAtMs, members }) =>
      jobRecord(
        codecs,
        { retryTopic: retryTopicName(adapter.name, retryTopic), dueAtMs, members },
        smallPartitions,
        spans,
      ),
    );
    const outputs = laid.map(({ out }) => out);
    const tallyOfDead = deadRecords('delivery', deadLetters, codecs.dead, tally, smallPartitions);
    // Dead letters of events are among the attempts already counted in.
    tally.in -= deadLetters.length - dead.length;
    const final = decided.map(({ one }) => one);
    outputs.push(...outcomeRecords(codecs, final, eventPartitions), ...tallyOfDead);
    return {
      outputs,
      tally,
      committed() {
        for (const [target, dueAtMs] of probing) putNewest(probes, target, dueAtMs, PROBES_MAX);
        for (const { record } of laid) wrote(record);
      },
    };
  }

  return { write };
}

function countDelivered(tally: BatchCounts, one: Attempted): void {
  tally.passed++;
  tally.oldestMs = Math.min(tally.oldestMs ?? Number.POSITIVE_INFINITY, one.entry.event.received_at);
}

/** A pause is no attempt. */
function nextAttempt(one: Attempted): number {
  return one.outcome.outcome === 'paused' ? one.attempt : one.attempt + 1;
}

type ChosenRetry = Extract<RetryChoice, { kind: 'retry' }>;

interface Decided {
  one: Attempted;
  retryTopic: ChosenRetry | null;
  /** Whether it is the event of a paused site that shows when its trouble is over. */
  isProbe: boolean;
}

/** Where an event goes; what no retry topic takes any more is dead, whatever its attempt said. */
function decide(adapter: Adapter, one: Attempted, isProbed: boolean, nowMs: number, random: () => number): Decided {
  const { outcome } = one.outcome;
  if (outcome !== 'diverted' && outcome !== 'paused') return { one, retryTopic: null, isProbe: false };
  const isProbe = pauseOf(one.outcome) !== '' && !isSlowed(one.outcome) && !isProbed;
  const choice = retryTopicOf(adapter, one, isProbe, nowMs, random());
  if (choice.kind === 'retry') return { one, retryTopic: choice, isProbe };
  return { one: { ...one, outcome: givenUp(one.outcome, choice.reason) }, retryTopic: null, isProbe: false };
}

/** Why nothing is asked of the destination; '' where something was, or it was only not begun. */
function pauseOf(outcome: EntryOutcome): string {
  return outcome.outcome === 'paused' && !isHandedOver(outcome) ? outcome.reason : '';
}

/** What was only not begun is due at once, wherever it came from. */
function retryTopicOf(adapter: Adapter, one: Attempted, isProbe: boolean, nowMs: number, random: number): RetryChoice {
  if (isHandedOver(one.outcome)) return { kind: 'retry', retryTopic: RETRY_DELAYS[0].name, dueAtMs: nowMs };
  const question = {
    attempt: one.attempt,
    firstAttemptedAtMs: one.firstAttemptedAtMs,
    nowMs,
    retryAfterMs: one.outcome.retryAfterMs,
    deadlineMs: deliveryDeadlineMs(adapter, one.entry.event),
    random,
  };
  if (isSlowed(one.outcome)) return slowRetry(question);
  if (pauseOf(one.outcome) === '') return nextRetry(question);
  return isProbe ? probeTopic(question) : pausedTopic(question);
}

function batchOf(codecs: Codecs, members: readonly Attempted[]): Buffer {
  const writer = createBatchWriter(codecs.eventSchemaId);
  for (const { view } of members) writer.add(view.coordinate, view.personBytes, view.eventBytes);
  return writer.finish();
}

function jobRecord(
  codecs: Codecs,
  { retryTopic, dueAtMs, members }: { retryTopic: string; dueAtMs: number; members: readonly Attempted[] },
  partitions: number,
  spans: BatchSpans | null,
): { out: OutRecord; record: RetryRecord } {
  const first = members[0] as Attempted;
  const { siteId, destination } = first;
  const isPaused = pauseOf(first.outcome) !== '';
  const waitsSinceMs = Math.min(...members.map(({ attemptedAtMs }) => attemptedAtMs));
  const job: DeliveryJobRecord = {
    site_id: siteId,
    attempt: nextAttempt(first),
    first_attempted_at: first.firstAttemptedAtMs,
    reason: first.outcome.reason,
    batch: batchOf(codecs, members),
    paused: isPaused,
    ...fieldsOfAim({ destination, dueAtMs, waitsSinceMs }),
  };
  const place = { topic: retryTopic, partition: partitionOf(siteId, partitions) };
  const headers = spans === null ? undefined : tracesOf(spans, members);
  return {
    out: { ...place, value: codecs.jobs.encode(job), ...(headers && { headers }) },
    record: { retryTopic: place, target: targetOf(first), waitsSinceMs, isPaused },
  };
}

function tracesOf(spans: BatchSpans, members: readonly Attempted[]): Record<string, string> | undefined {
  const found = members.map(({ entry }) => spans.of(entry.coordinate)).filter((trace) => trace !== undefined);
  return traceHeaders(new Set(found));
}

function deadLetterOf(codecs: Codecs, one: Attempted, nowMs: number): DeadLetter {
  const { partition, offset, index } = one.entry.coordinate ?? { partition: 0, offset: -1, index: -1 };
  const place = { stage: 'delivery', topic: TOPICS.raw, partition, offset, index };
  return undeliveredDeadLetter(one.destination, place, one.outcome, batchOf(codecs, [one]), nowMs);
}

function outcomeRecords(codecs: Codecs, attempts: readonly Attempted[], partitions: number): OutRecord[] {
  const groups = new Map<string, Attempted[][]>();
  for (const one of attempts) {
    if (isSilent(one)) continue;
    const name = `${one.siteId}/${one.destination}/${one.attempt}/${one.attemptedAtMs}`;
    const chunks = groups.get(name) ?? [[]];
    groups.set(name, chunks);
    const chunk = chunks.at(-1) as Attempted[];
    if (chunk.length < OUTCOMES_MAX) chunk.push(one);
    else chunks.push([one]);
  }
  return [...groups.values()].flat().map((members) => {
    const first = members[0] as Attempted;
    const answers = createAnswers();
    const value = codecs.outcomes.encode({
      site_id: first.siteId,
      destination: first.destination,
      attempt: first.attempt,
      attempted_at: first.attemptedAtMs,
      outcomes: members.map((one) => ({ ...outcomeOf(one), answer: answers.placeOf(one.outcome.answer ?? null) })),
      answers: answers.each,
    });
    return { topic: TOPICS.outcomes, partition: partitionOf(first.siteId, partitions), value };
  });
}

/** The answers of a record, each once. */
function createAnswers(): { each: PlatformAnswer[]; placeOf(answer: PlatformAnswer | null): number } {
  const each: PlatformAnswer[] = [];
  const places = new Map<string, number>();
  return {
    each,
    placeOf(answer) {
      if (answer === null) return -1;
      const name = `${answer.status} ${answer.body}`;
      const place = places.get(name) ?? each.push(answer) - 1;
      places.set(name, place);
      return place;
    },
  };
}

function outcomeOf({ entry, outcome }: Attempted): DeliveryOutcome {
  const { event, coordinate } = entry;
  return {
    event_id: event.event_id,
    event: event.event,
    coordinate_partition: coordinate?.partition ?? -1,
    coordinate_offset: coordinate?.offset ?? -1,
    coordinate_index: coordinate?.index ?? -1,
    outcome: outcome.outcome,
    reason: outcome.reason,
    received_at: event.received_at,
    took_ms: Math.round(outcome.tookMs),
  };
}
