import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { isRecording } from './config.ts';
import { cpuMsOf } from './linear.ts';

const FILE = new URL('./recorded.json', import.meta.url);
/** What is as slow as this beside the recorded run is slower by more than a machine's moods. */
const TIMES_MAX = 2.5;
/** Less is not told apart. */
const MS_MIN = 20;

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

/**
 * Holds a time to that of the run that was recorded, in yardsticks. With PERF_RECORD=1 the time is recorded instead, to be
 * committed with the change that needs it.
 */
export function expectAsRecorded(name: string, ms: number): void {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;
  const counted = Math.max(ms, MS_MIN) / yardstickMs();
  if (isRecording()) {
    const sorted = Object.entries({ ...recorded, [name]: Number(counted.toFixed(2)) }).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
    writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
    return;
  }
  const known = recorded[name] ?? expect.fail(`${name}: not recorded yet, which PERF_RECORD=1 does`);
  console.log(`${name}: ${counted.toFixed(2)} yardsticks, recorded ${known}`);
  expect(counted, name).toBeLessThan(TIMES_MAX * known);
}
