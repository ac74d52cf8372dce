import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

/** One figure, as often as it was measured. */
export interface Metric {
  name: string;
  unit: string;
  values: readonly number[];
}

interface Results {
  bench: string;
  node: string;
  cpu: string;
  metrics: Metric[];
}

/** How long is measured. */
export interface Times {
  rounds: number;
  /** Before the first round, so that what is measured is compiled. */
  warmMs: number;
  runMs: number;
}

/** What every bench may be told: `--rounds`, `--seconds` of a round and of the time before, `--json FILE`; and flags of its own. */
export function benchOptions(bench: string, usual: { rounds: number; seconds: number }, flags: readonly string[] = []) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      rounds: { type: 'string', default: String(usual.rounds) },
      seconds: { type: 'string', default: String(usual.seconds) },
      rate: { type: 'string' },
      events: { type: 'string' },
      json: { type: 'string', default: `.local/bench/${bench}.json` },
      ...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' as const }])),
    },
  });
  const numberOf = (option: 'rounds' | 'seconds' | 'rate' | 'events'): number | null => {
    const said = values[option];
    if (said === undefined) return null;
    if (!(Number(said) > 0)) throw new Error(`--${option} is no number above 0`);
    return Number(said);
  };
  const runMs = (numberOf('seconds') as number) * 1_000;
  const times: Times = { rounds: numberOf('rounds') as number, warmMs: runMs, runMs };
  const given = new Set(Object.keys(values).filter((name) => flags.includes(name)));
  return { times, rate: numberOf('rate'), events: numberOf('events'), json: values.json, given };
}

/** Gathers values under the names of their metrics. */
export function openMetrics() {
  const metrics = new Map<string, Metric>();
  return {
    note(name: string, unit: string, value: number): void {
      metrics.set(name, { name, unit, values: [...(metrics.get(name)?.values ?? []), value] });
    },
    all: (): Metric[] => [...metrics.values()],
  };
}

/** Prints the metrics as a table, and writes them as JSON beside it for `compare`. */
export function report(bench: string, metrics: Metric[], file: string): void {
  say(`\n${'what'.padEnd(NAME)}${['median', 'least', 'most'].map(padded).join('')}  unit`);
  for (const { name, unit, values } of metrics) {
    const figures = [median(values), Math.min(...values), Math.max(...values)].map(short);
    say(`${name.padEnd(NAME)}${figures.map(padded).join('')}  ${unit}`);
  }
  const results: Results = { bench, node: process.version, cpu: cpus()[0]?.model ?? '', metrics };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  say(`\nwritten to ${file}`);
}

/**
 * Prints the medians of two runs, their ratio, and how far each run's own values lie apart: a ratio beyond that is a
 * difference, one within it is noise.
 */
export function compare(fileA: string, fileB: string): void {
  const [a, b] = [fileA, fileB].map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results) as [Results, Results];
  const before = new Map(a.metrics.map((metric) => [metric.name, metric]));
  say(`${'what'.padEnd(NAME)}${['A', 'B', 'B / A', 'spread'].map(padded).join('')}`);
  for (const { name, values } of b.metrics) {
    const old = before.get(name)?.values ?? [];
    const [from, to] = [median(old), median(values)];
    const spread = Math.max(spreadOf(old), spreadOf(values));
    const differs = to > from * (1 + spread) || from > to * (1 + spread);
    const figures = [short(from), short(to), (to / from).toFixed(3), `${(spread * 100).toFixed(1)} %`];
    say(`${name.padEnd(NAME)}${figures.map(padded).join('')}  ${differs ? 'differs' : ''}`);
  }
}

/** The median of one of the metrics; not a number where there is none. */
export function medianOf(metrics: readonly Metric[], name: string): number {
  return median(metrics.find((metric) => metric.name === name)?.values ?? []);
}

/** Of an even number of values the upper one of the two in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** How much larger the largest value is than the smallest, as a share of that. */
const spreadOf = (values: readonly number[]): number => Math.max(...values) / Math.min(...values) - 1;

const NAME = 40;
const padded = (text: string): string => text.padStart(12);
const short = (value: number): string => (Math.abs(value) >= 1_000 ? value.toFixed(0) : value.toPrecision(3));

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
