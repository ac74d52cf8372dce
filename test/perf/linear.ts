import { expect } from 'vitest';

/** The CPU time of this process while something is done, in milliseconds: others' work does not count. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1000;
}

const SHORT = 32_768;
const PARTS = 8;
const TRIES = 3;
/** The processor's time is counted in steps of some milliseconds. */
const STEP_MS = 16;

/** A text that is as long as is asked for by what repeats in it. */
export type Hostile = readonly [begin: string, repeated: string, end: string];

/**
 * Holds work on a text to a time that grows as the text does: of eight texts, and of one as long as these together, which takes
 * eight times as long where each place is looked at from each other.
 */
export function expectLinear(work: (text: string) => unknown, [begin, repeated, end]: Hostile): void {
  const textOf = (length: number): string => begin + repeated.repeat(Math.ceil(length / repeated.length)) + end;
  const [short, long] = [textOf(SHORT), textOf(SHORT * PARTS)];
  const seen: string[] = [];
  for (let tried = 0; tried < TRIES; tried += 1) {
    const inParts = cpuMsOf(() => {
      for (let part = 0; part < PARTS; part += 1) work(short);
    });
    const atOnce = cpuMsOf(() => work(long));
    if (atOnce <= 3 * Math.max(inParts, STEP_MS)) return;
    seen.push(`${inParts} ms in parts, ${atOnce} at once`);
  }
  expect.fail(`${JSON.stringify([begin, repeated, end])}: ${seen.join('; ')}`);
}
