/** What a run of tests came to. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** What failed, a line each: a test's file, name and error, or what else counts as a failed test. */
  failures: string[];
  /** What failed at first and passed when its file ran again by itself, likewise. */
  unsteady: string[];
}

export const NOTHING: Tally = { passed: 0, failed: 0, skipped: 0, failures: [], unsteady: [] };

/** The tally of things that failed, each of which counts as one test. */
export function failed(failures: string[]): Tally {
  return { ...NOTHING, failed: failures.length, failures };
}

export function add(first: Tally, second: Tally): Tally {
  return {
    passed: first.passed + second.passed,
    failed: first.failed + second.failed,
    skipped: first.skipped + second.skipped,
    failures: [...first.failures, ...second.failures],
    unsteady: [...first.unsteady, ...second.unsteady],
  };
}

/**
 * The last lines of a run: what failed, and the counts in the very last line. A log of a long run is often kept by its
 * end alone, so what failed at the beginning is said once more there.
 */
export function summary({ passed, failed, failures, unsteady }: Tally): string {
  return [
    ...unsteady.map((failure) => `passed only when its file ran again by itself: ${failure}`),
    ...failures.map((failure) => `failed: ${failure}`),
    `${passed} passed, ${failed} failed`,
  ].join('\n');
}
