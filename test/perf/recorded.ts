import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { isRecording } from './config.ts';
import { cpuMsOf } from './linear.ts';

const RECORDED = new URL('./recorded.json', import.meta.url);
/** CPU of each stage for an event, in floors. */
export const BUDGET = new URL('./budget.json', import.meta.url);
/** What is as slow as this beside the recorded run is slower by more than a machine's moods. */
const TIMES_MAX = 2.5;
/** Less is not told apart. */
const MS_MIN = 20;

/**
 * Holds what a run measured to the run that was recorded, and prints both. Less is better, and each is a ratio to something measured in
 * the same run, so that it says the same on another machine. With PERF_RECORD=1 it is recorded instead, to be committed with the change
 * that needs it.
 *
 * @param timesMax So many times what was recorded fails.
 */
export function compare(name: string, metrics: Readonly<Record<string, number>>, timesMax = 1.5): void {
  expect(overRecorded(name, metrics, timesMax)).toEqual([]);
}

/** As `compare`, for more than one measure to be looked at before it fails. @returns the metrics that are too much. */
export function overRecorded(
  name: string,
  metrics: Readonly<Record<string, number>>,
  timesMax: number,
  file = RECORDED,
): string[] {
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  const now = Object.entries(metrics).map(([metric, value]) => [`${name}: ${metric}`, value] as const);
  if (isRecording()) {
    const rounded = now.map(([key, value]) => [key, Number(value.toPrecision(3))] as const);
    const sorted = Object.entries({ ...recorded, ...Object.fromEntries(rounded) }).sort(([a], [b]) => (a < b ? -1 : 1));
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
    return [];
  }
  const rows = now.map(([key, value]) => ({ key, value, times: value / (recorded[key] ?? Number.NaN) }));
  for (const { key, value, times } of rows)
    console.log(`${key}: ${value.toPrecision(3)}, recorded ${recorded[key] ?? 'never'}: ${times.toFixed(2)} times`);
  // What was not measured is not above zero, and what was never recorded is no number of times.
  return rows.filter(({ value, times }) => !(value > 0 && times < timesMax)).map(({ key }) => key);
}

let yardstick: number | undefined;

/** CPU time of a piece of work that never changes, by which the times of machines compare. */
function yardstickMs(): number {
  const text = 'the quick brown fox jumps over 13 lazy dogs, '.repeat(20_000);
  const once = (): void => {
    for (let time = 0; time < 10; time += 1)
      createHash('sha256')
        .update(text.replaceAll(/[a-z]+ \d/g, ''))
        .digest();
  };
  yardstick ??= Math.min(...Array.from({ length: 3 }, () => cpuMsOf(once)));
  return yardstick;
}

/** Holds a time of this process to that of the run that was recorded. */
export function expectAsRecorded(name: string, ms: number): void {
  compare(name, { yardsticks: Math.max(ms, MS_MIN) / yardstickMs() }, TIMES_MAX);
}
