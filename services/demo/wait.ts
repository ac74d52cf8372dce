/** Something that should reach a number. */
export interface Goal {
  label: string;
  expected: number;
  found: number;
}

export interface WaitOptions {
  /** Reads how far everything is. */
  measure: () => Promise<Goal[]>;
  wait: (ms: number) => Promise<void>;
  now: () => number;
  /** Waiting ends when nothing has moved for this long. */
  timeoutMs: number;
  onProgress: (goals: readonly Goal[]) => void;
}

const POLL_MS = 1_000;
/** Everything must hold this long, so that a duplicate that comes after the first is seen. */
export const SETTLE_MS = 2_000;

export type WaitResult = { kind: 'reached' } | { kind: 'stood_still'; missing: Goal[] };

function isReached({ expected, found }: Goal): boolean {
  return expected === found;
}

/**
 * Waits until every goal is reached and nothing has moved for SETTLE_MS, or until nothing has moved for the timeout.
 * What `measure` throws is passed on only after the timeout: the parts may be restarting.
 */
export async function waitFor(options: WaitOptions): Promise<WaitResult> {
  let goals: Goal[] = [];
  let seen = '';
  let movedAt = options.now();
  let fault: unknown = null;
  for (;;) {
    try {
      goals = await options.measure();
      fault = null;
    } catch (error) {
      fault = error;
    }
    const state = JSON.stringify(goals);
    if (state !== seen) movedAt = options.now();
    seen = state;
    options.onProgress(goals);
    const stillMs = options.now() - movedAt;
    if (fault === null && goals.every(isReached) && stillMs >= SETTLE_MS) return { kind: 'reached' };
    if (stillMs >= options.timeoutMs && fault !== null) throw fault;
    if (stillMs >= options.timeoutMs) return { kind: 'stood_still', missing: goals.filter((goal) => !isReached(goal)) };
    await options.wait(POLL_MS);
  }
}
