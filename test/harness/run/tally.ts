/** Counts of tests. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

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
