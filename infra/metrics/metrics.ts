import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** How often the event loop's delay is sampled: every 10 ms, the default, takes an idle process a third of a percent of a core. */
const LOOP_SAMPLE_MS = 100;

/** With what every stage counts, so that in = passed + dropped + diverted + dead holds for each. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Metrics of one process. Label values are codes and names from our own lists, never from events. */
export function createMetrics(stage: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ stage });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]): Counter =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[], buckets: number[]): Histogram =>
    new Histogram({ name, help, labelNames, buckets, registers });

  const taken = counter('svc_events_in_total', 'Events taken in', []);
  const passed = counter('svc_events_passed_total', 'Events passed on', []);
  const dropped = counter('svc_events_dropped_total', 'Events dropped on purpose', ['reason']);
  const diverted = counter('svc_events_diverted_total', 'Events put on a retry topic', ['lane']);
  const dead = counter('svc_events_dead_total', 'Events or records dead-lettered', ['reason']);
  const lagHelp = 'Offsets between what the group has committed and the end of the partition';
  const lag = gauge('svc_lag_records', lagHelp, ['topic', 'partition']);
  const skippedHelp = 'Offsets that retention deleted before they were read';
  const skipped = counter('svc_skipped_offsets_total', skippedHelp, ['topic']);
  const batch = histogram('svc_batch_seconds', 'Time of one batch', [], SECONDS);
  const age = histogram('svc_event_age_seconds', 'Arrival at the edge until done here', [], SECONDS);
  return {
    registry,
    counter,
    histogram,
    gauge,
    in: (count: number): void => taken.inc(count),
    passed: (count: number): void => passed.inc(count),
    dropped: (reason: string, count: number): void => dropped.inc({ reason }, count),
    diverted: (retryTopic: string, count: number): void => diverted.inc({ lane: retryTopic }, count),
    dead: (reason: string, count: number): void => dead.inc({ reason }, count),
    /** The lag of every partition that the process has; those that are missing are forgotten. */
    lags(all: readonly { topic: string; partition: number; records: number }[]): void {
      lag.reset();
      for (const { topic, partition, records } of all) lag.set({ topic, partition }, records);
    },
    /** Offsets of a topic that retention deleted before they were read. */
    skipped: (topic: string, offsets: number): void => skipped.inc({ topic }, offsets),
    batchSeconds: (seconds: number): void => batch.observe(seconds),
    /** Arrival at the edge until done here. */
    ageSeconds: (seconds: number): void => age.observe(seconds),
    text: (): Promise<string> => registry.metrics(),
  };
}
