/** Puts what several workers make side by side into one flush. */
export interface Gather<Item> {
  /**
   * Does work and resolves when what it made has been flushed. A flush begins when nobody works any more: who fails is not
   * waited for, and rejects with its own error.
   */
  run(work: () => Promise<Item>): Promise<void>;
}

interface Waiting<Item> {
  item: Item;
  flushed: PromiseWithResolvers<void>;
}

/**
 * One flush at a time; what is made meanwhile goes into the next. A worker that waits for its flush makes nothing else, so
 * that others wait for each of them once at the most. `flush` is given at least one item and says of each what became of it:
 * null, or the error it failed with.
 */
export function createGather<Item>(flush: (items: readonly Item[]) => Promise<(Error | null)[]>): Gather<Item> {
  let working = 0;
  let flushing = false;
  let waiting: Waiting<Item>[] = [];

  async function flushAll(): Promise<void> {
    if (flushing) return;
    flushing = true;
    while (working === 0 && waiting.length > 0) {
      const taken = waiting;
      waiting = [];
      await flush(taken.map(({ item }) => item)).then(
        (outcomes) => settle(taken, outcomes),
        (error: unknown) => {
          for (const { flushed } of taken) flushed.reject(error);
        },
      );
    }
    flushing = false;
  }

  return {
    async run(work) {
      const flushed = Promise.withResolvers<void>();
      working++;
      try {
        waiting.push({ item: await work(), flushed });
      } catch (error) {
        flushed.reject(error);
      }
      working--;
      void flushAll();
      await flushed.promise;
    },
  };
}

function settle<Item>(taken: readonly Waiting<Item>[], outcomes: readonly (Error | null)[]): void {
  for (const [index, { flushed }] of taken.entries()) {
    const error = outcomes[index] ?? null;
    if (error === null) flushed.resolve();
    else flushed.reject(error);
  }
}
