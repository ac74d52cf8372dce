// Metrics as a process serves them, read back.

interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** The samples of a metric of one process. */
export type ReadMetric = (name: string) => readonly Sample[];

const LINE = /^(svc_\w+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads our own metrics in Prometheus' text format; what is no such line, and values that are no number, are left out. */
export function readMetrics(text: string): ReadMetric {
  const samples = new Map<string, Sample[]>();
  for (const [, name = '', labels = '', value] of text.matchAll(LINE)) {
    if (Number.isNaN(Number(value))) continue;
    const read = [...labels.matchAll(LABEL)].map(([, label = '', content = '']) => [label, content] as const);
    const sample = { labels: Object.fromEntries(read), value: Number(value) };
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  }
  return (name) => samples.get(name) ?? [];
}
