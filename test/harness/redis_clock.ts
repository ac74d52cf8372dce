import type { Redis } from '#infra/redis/connection.ts';

/** A Redis whose scripts go by a clock of the test where they ask the server for the time. */
export function redisByClock<T extends Redis>(redis: T, nowMs: () => number): T {
  return Object.assign(Object.create(redis) as T, {
    async evalsha() {
      throw new Error('NOSCRIPT each of these is another script');
    },
    eval(text: string, ...rest: [number, ...string[]]) {
      const [seconds, micros] = [Math.floor(nowMs() / 1000), Math.floor((nowMs() % 1000) * 1000)];
      return redis.eval(text.replaceAll("redis.call('TIME')", `{ '${seconds}', '${micros}' }`), ...rest);
    },
  });
}
