import { createMemoryLimits } from '#pipelines/limits/sliding_window.ts';
import { rateLimitSuite } from '#test/contract/limits/suite.ts';

rateLimitSuite('rate limits in memory', (limits) => {
  const memory = createMemoryLimits(limits);
  return async (address, key, keyLimit) => memory.take(address, key, Date.now(), keyLimit);
});
