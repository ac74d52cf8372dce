import type { Metrics } from '#infra/metrics/metrics.ts';

/** What quota counts beside the flow of events. */
export interface QuotaMetrics {
  stage: Metrics;
  settled(events: number): void;
  /** Reserved events that were released: `duplicate`, or `never_arrived` where their edge died. */
  released(reason: 'duplicate' | 'never_arrived', events: number): void;
  /** A partition whose lost counters were put back. */
  restored(): void;
}

export function createQuotaMetrics(stage: Metrics): QuotaMetrics {
  const settled = stage.counter('svc_quota_settled_total', 'Unique events settled against an allowance', []);
  const released = stage.counter('svc_quota_released_total', 'Reserved events that were released', ['reason']);
  // The former name is there for one version, so that dashboards can be changed first.
  const givenBack = stage.counter('svc_quota_given_back_total', 'Former name of svc_quota_released_total', ['reason']);
  const restored = stage.counter('svc_quota_restored_total', 'Partitions whose lost counters were put back', []);
  return {
    stage,
    settled: (events) => settled.inc(events),
    released(reason, events) {
      for (const counter of [released, givenBack]) counter.inc({ reason }, events);
    },
    restored: () => restored.inc(),
  };
}
