import { expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { readServerHealth, watchServerHealth } from '#infra/redis/inspect.ts';
import { useRedis } from '#test/harness/redis.ts';
import { until } from '#test/harness/until.ts';

const redis = useRedis();

test('how full Redis is, and that it stores, is told while it answers', async () => {
  const metrics = createMetrics('dedup');
  const stop = watchServerHealth(redis(), metrics);
  await until(
    'it to be told',
    () => metrics.text(),
    (text) => /svc_redis_memory_ratio\{stage="dedup"\} 0\.\d+/.test(text),
  );
  expect(await metrics.text()).toContain('svc_redis_storing{stage="dedup"} 1');
  stop();

  const away = createMetrics('dedup');
  watchServerHealth({ info: () => Promise.reject(new Error('away')) } as never, away)();
  expect(await away.text()).not.toContain('svc_redis_memory_ratio{');
});

test.each([
  ['with a limit', 'used_memory:50\r\nmaxmemory:100\r\ntotal_system_memory:1000\r\n', 0.5, null],
  ['without one', 'used_memory:50\r\nmaxmemory:0\r\ntotal_system_memory:1000\r\n', 0.05, null],
  ['whose file is on a full disk', 'aof_last_write_status:err\r\nrdb_last_bgsave_status:ok\r\n', null, false],
  ['whose snapshot failed', 'aof_last_write_status:ok\r\nrdb_last_bgsave_status:err\r\n', null, false],
  ['that stores', 'aof_last_write_status:ok\r\nrdb_last_bgsave_status:ok\r\n', null, true],
  ['that says nothing', '# Server\r\n', null, null],
])('of a Redis %s', (_, info, memoryRatio, isStoring) => {
  expect(readServerHealth(info)).toEqual({ memoryRatio, isStoring });
});
