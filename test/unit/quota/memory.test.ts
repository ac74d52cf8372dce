import { createMemoryLimits } from '#pipelines/quota/limits.ts';
import { rateLimitSuite } from '#test/contract/limits/suite.ts';

let nowMs = Date.now();
const clock = {
  nowMs: () => nowMs,
  async sleep(ms: number) {
    nowMs += ms;
  },
};

rateLimitSuite(
  'rate limits in memory',
  (limits) => {
    const memory = createMemoryLimits(limits);
    return async (address, key, keyLimit, requests) => memory.take(address, key, nowMs, keyLimit, requests);
  },
  clock,
);
