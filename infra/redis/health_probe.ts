import { createProbe, type ProbeTimes } from '#infra/concurrency/probe.ts';
import type { Redis } from './client.ts';

/** Whether Redis answers, and how this host's clock stands to that of Redis, which all processes share. */
export interface RedisProbe {
  isAlive(): boolean;
  /** Milliseconds by which this host's clock is ahead, negative where it is behind; null while that is not known. */
  aheadMs(): number | null;
  stop(): void;
}

/** An answer that took longer says too little of when the server read its clock. */
const ROUND_TRIP_MS_MAX = 1_000;

/** Asks Redis for its time: the state of a connection says nothing of a server that hangs. */
export function watchRedis(redis: Pick<Redis, 'time'>, nowMs: () => number, times?: ProbeTimes): RedisProbe {
  let aheadMs: number | null = null;
  const probe = createProbe(async () => {
    const askedMs = nowMs();
    const [seconds = 0, micros = 0] = (await redis.time()).map(Number);
    const answeredMs = nowMs();
    if (answeredMs - askedMs > ROUND_TRIP_MS_MAX) return;
    aheadMs = Math.round((askedMs + answeredMs) / 2 - (seconds * 1_000 + micros / 1_000));
  }, times);
  return { ...probe, aheadMs: () => aheadMs };
}
