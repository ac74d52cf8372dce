import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** How often the event loop's delay is sampled: every 10 ms, the default, takes an idle process a third of a percent of a core. */
const LOOP_SAMPLE_MS = 100;

type Reading = readonly [labels: Record<string, string>, value: number];

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

  /** A gauge whose values are read whenever somebody asks for them, and never else. */
  function read(
    name: string,
    help: string,
    labelNames: string[],
    values: () => readonly Reading[] | Promise<readonly Reading[]>,
  ): void {
    new Gauge({
      ...{ name, help, labelNames, registers },
      async collect() {
        const found = await values();
        this.reset();
        // Without labels there is a value of 0 otherwise, which nobody has read.
        if (labelNames.length === 0) this.remove();
        for (const [labels, value] of found) this.set(labels, value);
      },
    });
  }

  const taken = counter('svc_events_in_total', 'Events taken in', []);
  const passed = counter('svc_events_passed_total', 'Events passed on', []);
  const dropped = counter('svc_events_dropped_total', 'Events dropped on purpose', ['reason']);
  const diverted = counter('svc_events_diverted_total', 'Events put on a retry topic', ['lane']);
  const dead = counter('svc_events_dead_total', 'Events or records dead-lettered', ['reason']);
  const lagHelp = 'Offsets between what the group has committed and the end of the partition';
  const lag = gauge('svc_lag_records', lagHelp, ['topic', 'partition']);
  const lagSecondsHelp = 'For how long the oldest record that is not committed has been waiting, at least';
  const lagSeconds = gauge('svc_lag_seconds', lagSecondsHelp, ['topic']);
  const searchHelp = 'Whether records are processed in small groups to find the one that kills the process';
  const searching = gauge('svc_poison_pill_search', searchHelp, ['topic', 'partition']);
  const skippedHelp = 'Offsets that retention deleted before they were read';
  const skipped = counter('svc_skipped_offsets_total', skippedHelp, ['topic']);
  const batch = histogram('svc_batch_seconds', 'Time of one batch', [], SECONDS);
  const age = histogram('svc_event_age_seconds', 'Arrival at the edge until done here', [], SECONDS);
  return {
    registry,
    counter,
    histogram,
    gauge,
    read,
    in: (count: number): void => taken.inc(count),
    passed: (count: number): void => passed.inc(count),
    dropped: (reason: string, count: number): void => dropped.inc({ reason }, count),
    diverted: (retryTopic: string, count: number): void => diverted.inc({ lane: retryTopic }, count),
    dead: (reason: string, count: number): void => dead.inc({ reason }, count),
    /** The lag of every partition that the process has; those that are missing are forgotten. */
    lags(all: readonly { topic: string; partition: number; records: number; waitsMs: number }[]): void {
      lag.reset();
      lagSeconds.reset();
      for (const { topic, partition, records } of all) lag.set({ topic, partition }, records);
      for (const [topic, partitions] of Map.groupBy(all, (one) => one.topic)) {
        lagSeconds.set({ topic }, Math.max(...partitions.map(({ waitsMs }) => waitsMs)) / 1_000);
      }
    },
    /** Whether the record of a partition is looked for that kills the process. */
    searching: ({ topic, partition }: { topic: string; partition: number }, isOn: boolean): void =>
      searching.set({ topic, partition }, isOn ? 1 : 0),
    /** Offsets of a topic that retention deleted before they were read. */
    skipped: (topic: string, offsets: number): void => skipped.inc({ topic }, offsets),
    batchSeconds: (seconds: number): void => batch.observe(seconds),
    /** Arrival at the edge until done here. */
    ageSeconds: (seconds: number): void => age.observe(seconds),
    text: (): Promise<string> => registry.metrics(),
  };
}
