import { failpoint } from '#infra/failpoint.ts';
import { type Deferral, endOf, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { TransformResult } from '#infra/kafka/transactional_stage.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { isHandedOver, type UncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { ERASED } from '#pipelines/erasure/suppression.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import { count, isolatePoisonPills, publishBatchCounts } from '#services/stage/batches.ts';
import type { Attempted, Attempts } from './attempts.ts';
import { type OutageWatch, outcomesOf } from './delivery_ports.ts';
import type { JobReader, TakenJobs } from './job_reader.ts';
import type { DeliveryOutput } from './output.ts';

interface TransformOptions {
  /** Whether the settings, and whose events are to be dropped, are known as they are now. */
  isCurrent(): boolean;
  watch: Pick<OutageWatch, 'ask' | 'probed' | 'awayUntilMs'>;
  jobs: Pick<JobReader, 'take'>;
  attempts: Attempts;
  output: DeliveryOutput;
  uncommitted: Pick<UncommittedOutcomes, 'committed' | 'forget'>;
  metrics: Metrics;
  /** Begins the spans of a batch. */
  spansOf(batch: InBatch, startMs: number): BatchSpans | null;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
  nowMs(): number;
}

/** How soon what was left because the settings may be behind is looked at again: each look takes a transaction. */
const SETTINGS_POLL_MS = 1_000;

/**
 * What becomes of a batch. While the destination is away all lies where it is; one record at a time shows whether it is
 * back. It lies there too while the settings, or the list of who was erased, may be behind: an event must not be passed over
 * because its site's destination is not known yet, nor be sent because its person's erasure is not.
 *
 * A batch whose transaction failed comes again; the outcomes that platforms gave before are kept until then.
 */
export function createTransform(options: TransformOptions): (batch: InBatch) => Promise<TransformResult> {
  const { isCurrent, watch, uncommitted, nowMs } = options;
  const makesWay = createProbeCount();
  return async (batch) => {
    const [first, second] = batch.records;
    uncommitted.committed(batch, first?.offset ?? 0);
    if (!isCurrent()) return leaving(first?.offset ?? 0, nowMs() + SETTINGS_POLL_MS);
    const permit = watch.ask();
    if (permit.kind === 'wait') return leaving(first?.offset ?? 0, permit.notBeforeMs);
    if (permit.kind === 'go') return attempt(options, batch, null);
    const head = { ...batch, records: batch.records.slice(0, 1), lag: batch.lag + 1 };
    const probe = await attempt(options, head, makesWay);
    if (probe.leave !== undefined || second === undefined) return probe;
    return { ...probe, leave: { offset: second.offset, notBeforeMs: nowMs() } };
  };
}

/** Failed probes of one record, after which the next one probes: it may be its own events that the platform fails at. */
const PROBES_MAX = 3;

type MakesWay = (batch: InBatch, attempted: readonly Attempted[]) => boolean;

/**
 * Whether a record that brought nothing as a probe goes to a retry topic like any other, so that the one behind it probes: where its
 * site's breaker alone holds it back, or it has failed again and again.
 */
function createProbeCount(): MakesWay {
  const counts = new Map<string, { offset: number; failed: number }>();
  return ({ topic, partition, records }, attempted) => {
    if (!attempted.some(({ outcome }) => outcome.outcome === 'diverted')) return true;
    const [place, offset] = [`${topic}/${partition}`, records[0]?.offset ?? 0];
    const before = counts.get(place);
    const failed = before?.offset === offset ? before.failed + 1 : 1;
    counts.set(place, { offset, failed });
    return failed >= PROBES_MAX;
  };
}

/** @param makesWay Of a probe; null: it is none. */
async function attempt(options: TransformOptions, batch: InBatch, makesWay: MakesWay | null): Promise<TransformResult> {
  const { watch, output, uncommitted, metrics, nowMs } = options;
  const startedMs = nowMs();
  const spans = options.spansOf(batch, startedMs);
  const taken = await options.jobs.take(batch, startedMs);
  const work = await attemptAll(options, batch, taken, spans, startedMs);
  failpoint('delivery.after_answer');
  if (makesWay !== null) watch.probed(work.attempted.some(({ outcome }) => outcome.outcome === 'paused'));
  const awayUntilMs = watch.awayUntilMs();
  const isLeft = awayUntilMs !== null && batch.topic === TOPICS.identified && isUnsettled(work);
  if (isLeft && makesWay?.(batch, work.attempted) !== true) {
    uncommitted.forget(batch);
    return leaving(batch.records[0]?.offset ?? 0, awayUntilMs);
  }
  const { attempted, unreadable, thrown, moved, leave } = resolveBatch(work, batch, nowMs());
  const { outputs, tally, committed } = output.write(attempted, [...unreadable, ...thrown], nowMs(), spans);
  tally.in += taken.erased;
  if (taken.erased > 0) count(tally.dropped, ERASED, taken.erased);
  return {
    outputs: [...outputs, ...moved.map(({ record }) => record)],
    ...(leave === undefined ? {} : { leave }),
    committed() {
      uncommitted.committed(batch, leave?.offset ?? endOf(batch));
      committed();
      publishBatchCounts(metrics, tally, startedMs, nowMs());
      spans?.end(nowMs(), outcomesOf(spans, attempted));
    },
  };
}

/** Sites side by side. Where one fails the others are waited for: who takes the batch anew must not send beside them. */
async function attemptAll(
  { attempts, schemaId }: TransformOptions,
  batch: InBatch,
  taken: TakenJobs,
  spans: BatchSpans | null,
  nowMs: number,
): Promise<BatchWork> {
  const work = { stage: 'delivery', batch, schemaId, nowMs } as const;
  const settled = await Promise.allSettled(
    taken.jobs.map((job) =>
      isolatePoisonPills(
        work,
        job.events,
        ({ view }) => ({ view, coordinate: view.coordinate }),
        (events) => attempts.make({ ...job, events: [...events], spans }, batch.stopping),
      ),
    ),
  );
  const made = settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
  return {
    attempted: made.flatMap(({ results }) => results.flat()),
    unreadable: taken.dead,
    thrown: made.flatMap(({ dead }, at) =>
      dead.map((deadLetter) => ({ ...deadLetter, destination: taken.jobs[at]?.destination ?? '' })),
    ),
    moved: taken.moved,
    ...(taken.leave === undefined ? {} : { leave: taken.leave }),
  };
}

/** Nothing is done: the batch stays where it is, and is not counted. */
function leaving(offset: number, notBeforeMs: number): TransformResult {
  return { outputs: [], leave: { offset, notBeforeMs }, committed: () => undefined };
}

/** Whether nothing of a batch is decided: all that was tried is to be tried again. */
function isUnsettled({ attempted, unreadable, thrown }: BatchWork): boolean {
  const outcomes = attempted.map(({ outcome }) => outcome.outcome);
  const open = outcomes.filter((outcome) => outcome === 'diverted' || outcome === 'paused').length;
  return (
    unreadable.length + thrown.length === 0 && open > 0 && !outcomes.includes('delivered') && !outcomes.includes('dead')
  );
}

/** What came of a batch. */
export interface BatchWork {
  attempted: readonly Attempted[];
  /** Letters of records that cannot be read. */
  unreadable: readonly DeadLetter[];
  /** Letters of events that made the work throw. */
  thrown: readonly DeadLetter[];
  moved: TakenJobs['moved'];
  leave?: Deferral;
}

/** Where the partition is still ours after all, as the group was only silent for long, it is not looked at again at once. */
const REST_MS = 1_000;

/** Outcomes that are to be committed, as deciding them again would have another effect. */
const FINAL: ReadonlySet<string> = new Set(['delivered', 'diverted', 'dead']);

/**
 * Cuts a batch that was broken off to what has to be committed: records behind the last one of which anything was
 * done stay where they are, for the partition's next owner. What was not begun before that goes to a retry topic, due at once.
 */
export function resolveBatch(work: BatchWork, { records }: Pick<InBatch, 'records'>, nowMs: number): BatchWork {
  // Where an event that threw stands is not known any more; it is rare enough that the rest goes to the retry topic.
  if (work.thrown.length > 0 || !work.attempted.some(({ outcome }) => isHandedOver(outcome))) return work;
  const done = work.attempted.filter(({ outcome }) => FINAL.has(outcome.outcome)).map(({ offset }) => offset);
  const last = done.reduce((one, other) => Math.max(one, other), -1);
  const rest = records.find(({ offset }) => offset > last);
  if (rest === undefined || (work.leave !== undefined && work.leave.offset <= rest.offset)) return work;
  return {
    attempted: work.attempted.filter(({ offset }) => offset <= last),
    unreadable: work.unreadable.filter(({ offset }) => offset <= last),
    thrown: [],
    moved: work.moved.filter(({ offset }) => offset <= last),
    leave: { offset: rest.offset, notBeforeMs: nowMs + REST_MS },
  };
}
