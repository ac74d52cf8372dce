import { failpoint } from '#infra/failpoint/failpoint.ts';
import { endOf, type InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { publish } from '#infra/kafka/counting.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { TransformResult } from '#infra/kafka/transactional_stage/transactional_stage_options.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { UncommittedOutcomes } from '#pipelines/delivery/uncommitted.ts';
import { isolatePoisonPills } from '#services/poison_pills.ts';
import type { Attempts } from './attempts.ts';
import { type BatchWork, handOver } from './hand_over.ts';
import type { JobReader, TakenJobs } from './job_reader.ts';
import type { OutageWatch } from './outage_watch.ts';
import type { DeliveryOutput } from './output.ts';

export interface TransformOptions {
  /** Whether the settings are known as they are now. */
  settings: { isCurrent(): boolean };
  watch: Pick<OutageWatch, 'ask' | 'probed' | 'awayUntilMs'>;
  jobs: JobReader;
  attempts: Attempts;
  output: DeliveryOutput;
  uncommitted: Pick<UncommittedOutcomes, 'committed' | 'forget'>;
  metrics: Metrics;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
  nowMs(): number;
}

/** How soon what was left because the settings may be behind is looked at again: each look takes a transaction. */
const SETTINGS_POLL_MS = 1_000;

/**
 * What becomes of a batch. While the destination is away all lies where it is; one record at a time shows whether it is
 * back. It lies there too while the settings may be behind: an event must not be passed over because its site's
 * destination is not known yet.
 *
 * A batch whose transaction failed comes again; the outcomes that platforms gave before are kept until then.
 */
export function createTransform(options: TransformOptions): (batch: InBatch) => Promise<TransformResult> {
  const { settings, watch, uncommitted, nowMs } = options;
  return async (batch) => {
    const [first, second] = batch.records;
    uncommitted.committed(batch, first?.offset ?? 0);
    if (!settings.isCurrent()) return leaving(first?.offset ?? 0, nowMs() + SETTINGS_POLL_MS);
    const permit = watch.ask();
    if (permit.kind === 'wait') return leaving(first?.offset ?? 0, permit.notBeforeMs);
    if (permit.kind === 'go') return attempt(options, batch, false);
    const probe = await attempt(options, { ...batch, records: batch.records.slice(0, 1), lag: batch.lag + 1 }, true);
    if (probe.leave !== undefined || second === undefined) return probe;
    return { ...probe, leave: { offset: second.offset, notBeforeMs: nowMs() } };
  };
}

async function attempt(options: TransformOptions, batch: InBatch, isProbe: boolean): Promise<TransformResult> {
  const { watch, output, uncommitted, metrics, nowMs } = options;
  const startedMs = nowMs();
  const taken = await options.jobs.take(batch, startedMs);
  const work = await attemptAll(options, batch, taken, startedMs);
  failpoint('delivery.after_answer');
  if (isProbe) watch.probed(work.attempted.some(({ outcome }) => outcome.outcome === 'paused'));
  const awayUntilMs = watch.awayUntilMs();
  if (awayUntilMs !== null && batch.topic === TOPICS.identified && isUnsettled(work)) {
    uncommitted.forget(batch);
    return leaving(batch.records[0]?.offset ?? 0, awayUntilMs);
  }
  const { attempted, unreadable, thrown, moved, leave } = handOver(work, batch, nowMs());
  const { outputs, tally, committed } = output.write(attempted, [...unreadable, ...thrown], nowMs());
  return {
    outputs: [...outputs, ...moved.map(({ record }) => record)],
    ...(leave === undefined ? {} : { leave }),
    committed() {
      uncommitted.committed(batch, leave?.offset ?? endOf(batch));
      committed();
      publish(metrics, tally, startedMs, nowMs());
    },
  };
}

/** Sites side by side. Where one fails the others are waited for: who takes the batch anew must not send beside them. */
async function attemptAll(
  { attempts, schemaId }: TransformOptions,
  batch: InBatch,
  taken: TakenJobs,
  nowMs: number,
): Promise<BatchWork> {
  const work = { stage: 'delivery', batch, schemaId, nowMs } as const;
  const settled = await Promise.allSettled(
    taken.jobs.map((job) =>
      isolatePoisonPills(
        work,
        job.events,
        ({ view }) => ({ view, coordinate: view.coordinate }),
        (events) => attempts.make({ ...job, events: [...events] }, batch.stopping),
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
    thrown: made.flatMap(({ dead }) => dead),
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
