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
  /** `readable` is false while the last look failed; the goals are then those of the look before. */
  onProgress: (goals: readonly Goal[], readable: boolean) => void;
}

const POLL_MS = 1_000;
/** Everything must hold this long, so that a duplicate that comes after the first is seen. */
export const SETTLE_MS = 2_000;

/** `code` is `unreadable`: for as long as one waits, where things stand could not be read. */
export class UnreadableError extends Error {
  readonly code = 'unreadable';
}

export type WaitResult = { kind: 'reached' } | { kind: 'stood_still'; missing: Goal[] };

function isReached({ expected, found }: Goal): boolean {
  return expected === found;
}

function unreadable(cause: unknown): UnreadableError {
  const words = cause instanceof Error ? cause.message : 'unknown failure';
  return new UnreadableError(`what is stored and delivered cannot be read: ${words}`, { cause });
}

/**
 * Waits until every goal is reached and nothing has moved for SETTLE_MS, or until nothing has moved for the timeout.
 * A look that fails is made again: the parts may be restarting.
 *
 * @throws UnreadableError when it still fails after the timeout, with what `measure` threw as cause.
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
    options.onProgress(goals, fault === null);
    const stillMs = options.now() - movedAt;
    if (fault === null && goals.every(isReached) && stillMs >= SETTLE_MS) return { kind: 'reached' };
    if (stillMs >= options.timeoutMs && fault !== null) throw unreadable(fault);
    if (stillMs >= options.timeoutMs) return { kind: 'stood_still', missing: goals.filter((goal) => !isReached(goal)) };
    await options.wait(POLL_MS);
  }
}
