import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import { offsetsLeft } from '#infra/replay/offsets.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import type { ReplayContext } from './run_context.ts';

/** Offsets on the replay topic that delivery has yet to take, before no more are written. */
const WAITING_MAX = 200;
const ASK_MS = 500;

/** Lets so many events a second through, in steps. */
export interface RateLimit {
  /** When the next step may be; monotonic milliseconds. */
  readyMs(): number;
  spent(events: number, nowMs: number): void;
}

export function createRateLimit(rate: number): RateLimit {
  let readyMs = 0;
  return {
    readyMs: () => readyMs,
    spent(events, nowMs) {
      readyMs = Math.max(readyMs, nowMs) + (events / rate) * 1000;
    },
  };
}

/** Asks now and then how much delivery has yet to take; answers until when to wait, in monotonic milliseconds, where that is too much. */
export function createBackpressure({ session }: ReplayContext, destination: string): () => Promise<number> {
  const group = session.groupOf(`delivery.${destination}`);
  let askedMs = Number.NEGATIVE_INFINITY;
  let untilMs = 0;
  return async () => {
    if (monotonicMs() - askedMs < ASK_MS) return untilMs;
    askedMs = monotonicMs();
    const waiting = await offsetsLeft(session, group, replayTopic(destination));
    untilMs = waiting > WAITING_MAX ? monotonicMs() + ASK_MS : 0;
    return untilMs;
  };
}
