import { beforeEach, expect, test } from 'vitest';
import { createKeyUseView, recordKeyUses } from '#infra/redis/edge_reports.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedis } from '#test/harness/redis.ts';

const redis = useRedis();
let nowMs = 0;
beforeEach(() => {
  nowMs = 1_000;
});

const view = () => createKeyUseView(redis(), quiet, () => nowMs);

test('what was noted is read, and a later time is not undone by an earlier one', async () => {
  await recordKeyUses(redis(), new Map([['test-a', 2_000]]));
  await recordKeyUses(
    redis(),
    new Map([
      ['test-a', 1_000],
      ['test-b', 5],
    ]),
  );
  await recordKeyUses(redis(), new Map());
  const uses = view();
  expect(uses.lastUsed('test-a')).toBeNull();
  await uses.refresh();
  expect([uses.lastUsed('test-a'), uses.lastUsed('test-b'), uses.lastUsed('test-c')]).toEqual([2_000, 5, null]);
});

test('a reading serves for half a second', async () => {
  const uses = view();
  await uses.refresh();
  await recordKeyUses(redis(), new Map([['test-d', 7]]));
  await uses.refresh();
  expect(uses.lastUsed('test-d')).toBeNull();
  nowMs += 500;
  await uses.refresh();
  expect(uses.lastUsed('test-d')).toBe(7);
});

test('while Redis is away what was known stays', async () => {
  const own = redis().duplicate();
  await recordKeyUses(own, new Map([['test-e', 9]]));
  const uses = createKeyUseView(own, quiet, () => nowMs);
  await uses.refresh();
  own.disconnect();
  nowMs += 1_000;
  await uses.refresh();
  expect(uses.lastUsed('test-e')).toBe(9);
  await expect(recordKeyUses(own, new Map([['test-e', 10]]))).rejects.toMatchObject({ code: 'redis_unavailable' });
});
