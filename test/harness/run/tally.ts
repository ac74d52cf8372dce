/** Counts of tests. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

export const NOTHING: Tally = { passed: 0, failed: 0, skipped: 0 };

export function add(first: Tally, second: Tally): Tally {
  return {
    passed: first.passed + second.passed,
    failed: first.failed + second.failed,
    skipped: first.skipped + second.skipped,
  };
}

/** The last line of a run. */
export function summary({ passed, failed }: Tally): string {
  return `${passed} passed, ${failed} failed`;
}
