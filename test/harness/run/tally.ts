/** What a run of tests came to. */
export interface BatchCounts {
  passed: number;
  failed: number;
  skipped: number;
  /** What failed, a line each: a test's file, name and error, or what else counts as a failed test. */
  failures: string[];
  files: TestFile[];
}

/** A file that ran, with the time of its tests and hooks. */
interface TestFile {
  path: string;
  tests: number;
  ms: number;
}

export const NOTHING: BatchCounts = { passed: 0, failed: 0, skipped: 0, failures: [], files: [] };

const SLOWEST = 10;
const FAILED = 'failed: ';

/** The tally of things that failed, each of which counts as one test. */
export function failed(failures: string[]): BatchCounts {
  return { ...NOTHING, failed: failures.length, failures };
}

export function add(first: BatchCounts, second: BatchCounts): BatchCounts {
  return {
    passed: first.passed + second.passed,
    failed: first.failed + second.failed,
    skipped: first.skipped + second.skipped,
    failures: [...first.failures, ...second.failures],
    files: [...first.files, ...second.files],
  };
}

/** The slowest files, a line each. */
export function slowest({ files }: BatchCounts): string[] {
  return files
    .toSorted((first, second) => second.ms - first.ms)
    .slice(0, SLOWEST)
    .map(({ path, ms, tests }) => `${seconds(ms).padStart(6)} s  ${path} (${tests})`);
}

/**
 * The last lines of a run: what failed, and the counts in the very last line. A log of a long run is often kept by its
 * end alone, so what failed at the beginning is said once more there.
 */
export function summary({ passed, failed, failures }: BatchCounts): string {
  return [...failures.map((failure) => FAILED + failure), `${passed} passed, ${failed} failed`].join('\n');
}

/** What the last lines of a program come to that ends as `summary` says; undefined where it does not. */
export function readSummary(lines: readonly string[]): BatchCounts | undefined {
  const [, passed, count] = lines.map((line) => /^(\d+) passed, (\d+) failed$/.exec(line)).findLast(Boolean) ?? [];
  if (passed === undefined) return undefined;
  const failures = lines.filter((line) => line.startsWith(FAILED)).map((line) => line.slice(FAILED.length));
  return { ...NOTHING, passed: Number(passed), failed: Number(count), failures };
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
