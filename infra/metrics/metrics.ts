import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What every stage counts, so that in = passed + dropped + diverted + dead holds for each. */
interface StageMetrics {
  in(count: number): void;
  passed(count: number): void;
  dropped(reason: string, count: number): void;
  diverted(lane: string, count: number): void;
  dead(reason: string, count: number): void;
  /** The lag of every partition that the process has; those that are missing are forgotten. */
  lags(all: readonly { topic: string; partition: number; records: number }[]): void;
  /** Offsets of a topic that retention deleted before they were read. */
  skipped(topic: string, offsets: number): void;
  /** Time of one batch through the stage. */
  batchSeconds(seconds: number): void;
  /** Arrival at the edge until done here. */
  ageSeconds(seconds: number): void;
}

export interface Metrics extends StageMetrics {
  registry: Registry;
  counter(name: string, help: string, labels: string[]): Counter;
  histogram(name: string, help: string, labels: string[], buckets: number[]): Histogram;
  gauge(name: string, help: string, labels: string[]): Gauge;
  /** Prometheus text. */
  text(): Promise<string>;
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** How often the event loop's delay is sampled: every 10 ms, the default, takes an idle process a third of a percent of a core. */
const LOOP_SAMPLE_MS = 100;

/** Metrics of one process. Label values are codes and names from our own lists, never from events. */
export function createMetrics(stage: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ stage });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  const registers = [registry];
  const taken = new Counter({ name: 'svc_events_in_total', help: 'Events taken in', registers });
  const passed = new Counter({ name: 'svc_events_passed_total', help: 'Events passed on', registers });
  const dropped = new Counter({
    name: 'svc_events_dropped_total',
    help: 'Events dropped on purpose',
    labelNames: ['reason'],
    registers,
  });
  const diverted = new Counter({
    name: 'svc_events_diverted_total',
    help: 'Events put on a retry lane',
    labelNames: ['lane'],
    registers,
  });
  const dead = new Counter({
    name: 'svc_events_dead_total',
    help: 'Events or records dead-lettered',
    labelNames: ['reason'],
    registers,
  });
  const lag = new Gauge({
    name: 'svc_lag_records',
    help: 'Offsets between what the group has committed and the end of the partition',
    labelNames: ['topic', 'partition'],
    registers,
  });
  const skipped = new Counter({
    name: 'svc_skipped_offsets_total',
    help: 'Offsets that retention deleted before they were read',
    labelNames: ['topic'],
    registers,
  });
  const batch = new Histogram({ name: 'svc_batch_seconds', help: 'Time of one batch', buckets: SECONDS, registers });
  const age = new Histogram({
    name: 'svc_event_age_seconds',
    help: 'Arrival at the edge until done here',
    buckets: SECONDS,
    registers,
  });
  return {
    registry,
    in: (count) => taken.inc(count),
    passed: (count) => passed.inc(count),
    dropped: (reason, count) => dropped.inc({ reason }, count),
    diverted: (lane, count) => diverted.inc({ lane }, count),
    dead: (reason, count) => dead.inc({ reason }, count),
    lags(all) {
      lag.reset();
      for (const { topic, partition, records } of all) lag.set({ topic, partition }, records);
    },
    skipped: (topic, offsets) => skipped.inc({ topic }, offsets),
    batchSeconds: (seconds) => batch.observe(seconds),
    ageSeconds: (seconds) => age.observe(seconds),
    counter: (name, help, labelNames) => new Counter({ name, help, labelNames, registers }),
    histogram: (name, help, labelNames, buckets) => new Histogram({ name, help, labelNames, buckets, registers }),
    gauge: (name, help, labelNames) => new Gauge({ name, help, labelNames, registers }),
    text: () => registry.metrics(),
  };
}
