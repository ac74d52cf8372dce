// One task at a time, and a bounded number with fair turns.

/** Runs one task at a time, in the order asked. */
export interface Mutex {
  run<T>(task: () => Promise<T>): Promise<T>;
}

export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const next = tail.then(task, task);
      tail = next.catch(() => undefined);
      return next;
    },
  };
}

/** As many of a group wait as may wait. */
export class GateBusyError extends Error {
  readonly code = 'gate_busy';
}

interface FairGateLimits {
  atOnce: number;
  groupAtOnce: number;
  waitingMax: number;
}

/**
 * A gate where the group with the fewest inside comes first, and of those with as many the one that has waited longest since
 * its last turn: whoever sends many holds up itself.
 */
export function createFairGate({ atOnce, groupAtOnce, waitingMax }: FairGateLimits) {
  let inside = 0;
  const insideOf = new Map<string, number>();
  /** In the order of turns. */
  const waiting = new Map<string, (() => void)[]>();
  const countOf = (group: string): number => insideOf.get(group) ?? 0;

  function begin(group: string): void {
    inside++;
    insideOf.set(group, countOf(group) + 1);
  }

  function next(): void {
    const groups = [...waiting.keys()].filter((group) => countOf(group) < groupAtOnce);
    const [first, ...others] = groups;
    if (first === undefined || inside >= atOnce) return;
    const group = others.reduce((least, one) => (countOf(one) < countOf(least) ? one : least), first);
    const [start, ...rest] = waiting.get(group) ?? [];
    waiting.delete(group);
    if (rest.length > 0) waiting.set(group, rest);
    begin(group);
    start?.();
  }

  function leaving(group: string): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      inside--;
      const count = countOf(group) - 1;
      if (count === 0) insideOf.delete(group);
      else insideOf.set(group, count);
      next();
    };
  }

  async function wait(group: string, signal: AbortSignal): Promise<void> {
    const queue = waiting.get(group) ?? [];
    if (queue.length >= waitingMax) throw new GateBusyError();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.set(group, [...queue, resolve]);
    const giveUp = (): void => {
      const rest = (waiting.get(group) ?? []).filter((one) => one !== resolve);
      if (rest.length > 0) waiting.set(group, rest);
      else waiting.delete(group);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  return {
    /**
     * Resolves when the caller may begin; what it resolves to is called when it has ended.
     *
     * @param signal Ends the waiting, with its reason.
     * @throws GateBusyError
     */
    async enter(group: string, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      if (inside < atOnce && countOf(group) < groupAtOnce) begin(group);
      else await wait(group, signal);
      return leaving(group);
    },
  };
}
