/** Every await on the outside world goes through this: the simulation decides when it goes on, if ever. */
export type Pause = () => Promise<void>;

/** A process of the simulation, which stands still at every pause until it is let go on. */
export interface Actor {
  /** Lets it go on to its next pause; resolves there, or at its end. */
  resume(): Promise<void>;
  hasEnded(): boolean;
}

/**
 * Makes an actor that waits before its first step. What `main` throws ends it, as an error ends a process. Where it has
 * several calls under way, they go on in the order in which they were made.
 */
export function createActor(main: (pause: Pause) => Promise<void>): Actor {
  const waiting: (() => void)[] = [];
  let rested: () => void = () => undefined;
  let ended = false;
  const pause: Pause = () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      rested();
    });
  const end = (): void => {
    ended = true;
    rested();
  };
  pause()
    .then(() => main(pause))
    .then(end, end);
  return {
    resume() {
      const wake = waiting.shift();
      if (ended || wake === undefined) return Promise.resolve();
      return new Promise((resolve) => {
        rested = resolve;
        wake();
        // It may now be waiting for its other calls, and not say so: once nothing moves any more it rests.
        if (waiting.length > 0) setImmediate(resolve);
      });
    },
    hasEnded: () => ended,
  };
}
