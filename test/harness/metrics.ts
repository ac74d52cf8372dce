/** One sample of a process's metrics. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads a process's metrics in the Prometheus text format. */
export async function readMetrics(url: string): Promise<Sample[]> {
  const text = await (await fetch(url)).text();
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return name === undefined || value === undefined
      ? []
      : [{ name, labels: readLabels(labels), value: Number(value) }];
  });
}

function readLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value]));
}

/** Sum of the samples of a name whose labels include those given. */
export function total(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
