import { BASE_DICTIONARY, RECENT_DICTIONARY } from '#infra/clickhouse/person_dictionaries.ts';
import type { ReloadReport } from '#infra/clickhouse/person_reloader.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const LABEL_OF = { [BASE_DICTIONARY]: 'base', [RECENT_DICTIONARY]: 'recent' } as const;

/** Metrics of the dictionaries of merged persons. */
export function personReport(metrics: Pick<Metrics, 'gauge' | 'histogram'>): ReloadReport {
  const took = metrics.histogram(
    'svc_persons_reload_seconds',
    'Time that loading a dictionary of merged persons took',
    ['dictionary'],
    SECONDS,
  );
  const delay = metrics.histogram(
    'svc_persons_delay_seconds',
    'From when links of persons were stored until queries know them',
    [],
    SECONDS,
  );
  const rows = metrics.gauge('svc_persons_dictionary_rows', 'Merged persons in a dictionary', ['dictionary']);
  const bytes = metrics.gauge('svc_persons_dictionary_bytes', 'Memory of a dictionary of merged persons', [
    'dictionary',
  ]);
  return {
    reloaded: (name, seconds) => took.observe({ dictionary: LABEL_OF[name] }, seconds),
    delayed: (seconds) => delay.observe(seconds),
    holds(figures) {
      for (const { name, rows: held, bytes: size } of figures) {
        rows.set({ dictionary: LABEL_OF[name] }, held);
        bytes.set({ dictionary: LABEL_OF[name] }, size);
      }
    },
  };
}
