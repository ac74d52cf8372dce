import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { CHECKPOINTS_KEY, quotaKey } from '#infra/redis/quota/admission.ts';
import { createMonthUseView } from '#infra/redis/quota/quota.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedis } from '#test/harness/redis.ts';

const NOW_MS = Date.UTC(2026, 9, 20);
const redis = useRedis();

test('what is settled of this month is read, and nothing used is told of who used nothing', async () => {
  const [used, unused, unasked] = [randomUUID(), randomUUID(), randomUUID()];
  await redis().hset(CHECKPOINTS_KEY, '0', '5');
  await redis().hset(quotaKey(used, '2026-10'), 'used', '41', 'held', '7');
  await redis().hset(quotaKey(unused, '2026-09'), 'used', '5');
  const view = createMonthUseView(
    redis(),
    quiet,
    () => NOW_MS,
    () => 0,
  );
  expect(view.used(used)).toBeNull();
  await view.refresh([used, unused]);
  expect([used, unused, unasked].map(view.used)).toEqual([41, 0, null]);
});

test('of a Redis that has not got the counters again nothing is known', async () => {
  let nowMs = NOW_MS;
  const view = createMonthUseView(
    redis(),
    quiet,
    () => nowMs,
    () => nowMs,
  );
  await redis().hset(CHECKPOINTS_KEY, '0', '5');
  await view.refresh(['a']);
  expect(view.used('a')).toBe(0);
  await redis().del(CHECKPOINTS_KEY);
  nowMs += 1_000;
  await view.refresh(['a']);
  expect(view.used('a')).toBeNull();
});
