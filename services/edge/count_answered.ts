import type { Metrics } from '#infra/metrics/metrics.ts';
import type { AnsweredEvents, Refusals, Sender } from './refusals.ts';

/** Counts what became of the events of a request that was answered: for the metrics, and by site where some were not accepted, or with a fault. */
export function createAnsweredCount(
  metrics: Metrics,
  refusals: Refusals,
): (sender: Sender, answered: AnsweredEvents) => void {
  const rejected = metrics.counter('svc_edge_rejected_total', 'Events rejected as malformed', ['code']);
  return (sender, answered) => {
    const { batch, reused, overQuota } = answered;
    metrics.in(batch.taken.length + batch.dropped.length + batch.rejected.length + overQuota);
    metrics.passed(batch.taken.length);
    if (overQuota + batch.dropped.length + batch.rejected.length + batch.warned.length + reused.length === 0) return;
    refusals.sawEvents(sender, answered);
    if (overQuota > 0) metrics.dropped('quota', overQuota);
    for (const { reason } of batch.dropped) metrics.dropped(reason, 1);
    if (batch.rejected.length === 0) return;
    metrics.dropped('rejected', batch.rejected.length);
    for (const { code } of batch.rejected) rejected.inc({ code });
  };
}
