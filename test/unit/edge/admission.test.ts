import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { createMetrics, type Metrics } from '#infra/metrics/metrics.ts';
import type { RateLimitStore } from '#infra/redis/quota/admission.ts';
import { type Admission, createMemoryLimits } from '#pipelines/quota/limits.ts';
import { createRateAndQuotaLimiter, type RateLimiter } from '#services/edge/admission.ts';
import { account, apiKey } from '#test/unit/settings/samples.ts';

const NOW_MS = Date.UTC(2026, 9, 10);
const LIMITS = { windowMs: 10_000, perIp: 2, perKey: 0 };
const REQUESTER = {
  key: apiKey({ key_hash: 'k', rate_limit: 7 }),
  account: account({ account_id: 'a', monthly_allowance: 10 }),
  clientIp: '203.0.113.1',
};

interface World {
  rateLimiter: RateLimiter;
  metrics: Metrics;
  /** What Redis answers; an error: it is away. */
  answer: Admission | Error;
  asked: Parameters<RateLimitStore['admit']>[0][];
  released: unknown[];
  doubts: number;
}

const open: Admission = { verdict: { ok: true, rate: null }, granted: 3, known: 8 };

async function start(): Promise<World> {
  const world: World = {
    rateLimiter: undefined as unknown as RateLimiter,
    metrics: createMetrics('edge'),
    answer: open,
    asked: [],
    released: [],
    doubts: 0,
  };
  const answered = async <T>(value: T): Promise<T> => {
    if (world.answer instanceof Error) throw world.answer;
    return value;
  };
  world.rateLimiter = await createRateAndQuotaLimiter({
    store: {
      admit(request) {
        world.asked.push(request);
        return answered(world.answer as Admission);
      },
      release: (...words) => answered(void world.released.push(words)),
      renew: () => answered(4),
    },
    memory: createMemoryLimits(LIMITS),
    leases: {
      current: () => 'lease',
      markUncertain: () => {
        world.doubts++;
      },
      renew: () => answered(undefined),
    },
    addressOf: (ip) => ip,
    nowMs: Date.now,
    metrics: world.metrics,
    logger: createLogger('test', 'silent'),
  });
  return world;
}

let world: World;
beforeEach(async () => {
  vi.useFakeTimers({ now: NOW_MS });
  world = await start();
});
afterEach(() => {
  world.rateLimiter.stop();
  vi.useRealTimers();
});

const admit = (wanted: number) => world.rateLimiter.admit(REQUESTER, NOW_MS, wanted);

test('what Redis grants is reserved in the month of arrival, with the grace', async () => {
  expect(await admit(5)).toEqual({
    ok: true,
    rate: null,
    reservation: { accountId: 'a', month: '2026-10', granted: 3, lease: 'lease' },
  });
  expect(world.asked).toEqual([
    {
      address: '203.0.113.1',
      key: 'k',
      keyLimit: 7,
      requests: 1,
      accountId: 'a',
      month: '2026-10',
      monthLimit: 12,
      wanted: 5,
      lease: 'lease',
    },
  ]);
});

test('who is limited is refused from memory until the time that was said', async () => {
  const rate = { limit: 2, remaining: 0, resetMs: 4_000 };
  const limited = { ok: false, kind: 'ip', waitMs: 4_000, rate } as const;
  world.answer = { verdict: limited, granted: 0, known: 0 };
  expect(world.rateLimiter.limited(REQUESTER)).toBe(null);
  expect(await admit(1)).toEqual(limited);
  vi.setSystemTime(NOW_MS + 1_500);
  expect(world.rateLimiter.limited(REQUESTER)).toMatchObject({ kind: 'ip', waitMs: 2_500, rate: { resetMs: 2_500 } });
  expect(world.rateLimiter.limited({ ...REQUESTER, clientIp: '203.0.113.2' })).toBe(null);
  vi.setSystemTime(NOW_MS + 4_000);
  expect(world.rateLimiter.limited(REQUESTER)).toBe(null);
});

test('without Redis the limits hold in memory and the month goes on from what was known', async () => {
  await admit(5);
  world.answer = new Error('away');
  expect(world.rateLimiter.isShared()).toBe(true);
  expect(await admit(3)).toMatchObject({ ok: true, reservation: { granted: 3, lease: '' } });
  expect(world.rateLimiter.isShared()).toBe(false);
  // What was asked may have been reserved all the same.
  expect(world.doubts).toBe(1);
  // 8 were used and held of 12, and 3 granted since.
  expect(await admit(3)).toMatchObject({ ok: true, reservation: { granted: 1, lease: '' }, rate: { remaining: 0 } });
  expect(await admit(3)).toMatchObject({ ok: false, kind: 'ip' });
  expect(world.asked).toHaveLength(2);

  world.answer = open;
  await vi.advanceTimersByTimeAsync(1_100);
  expect(world.rateLimiter.isShared()).toBe(true);
  expect(await admit(3)).toMatchObject({ reservation: { granted: 3, lease: 'lease' } });
});

test('a month whose usage Redis does not know goes on from what was known', async () => {
  await admit(5);
  world.answer = { ...open, granted: null, known: 0 };
  expect(await admit(5)).toMatchObject({ reservation: { granted: 4, lease: '' } });
  expect(world.rateLimiter.isShared()).toBe(true);
});

test('without Redis what was not produced is given back as well, and no more than was granted', async () => {
  await admit(5);
  world.answer = new Error('away');
  for (let times = 0; times < 30; times++) {
    const requester = { ...REQUESTER, key: apiKey({ key_hash: `k${times}` }), clientIp: `203.0.113.${times}` };
    const admitted = await world.rateLimiter.admit(requester, NOW_MS, 50);
    expect(admitted).toMatchObject({ ok: true, reservation: { granted: 4, lease: '' } });
    if (admitted.ok) world.rateLimiter.release(admitted.reservation, 4);
  }
  const last = await world.rateLimiter.admit({ ...REQUESTER, clientIp: '203.0.114.1' }, NOW_MS, 50);
  if (last.ok) world.rateLimiter.release(last.reservation, 1_000);
  const again = await world.rateLimiter.admit({ ...REQUESTER, clientIp: '203.0.114.2' }, NOW_MS, 50);
  expect(again).toMatchObject({ ok: true, reservation: { granted: 4 } });
  expect(world.released).toEqual([]);
});

test('what was not produced is released; where that fails there is doubt', async () => {
  const admitted = await admit(5);
  if (!admitted.ok) throw new Error('refused');
  world.rateLimiter.release(admitted.reservation, 2);
  expect(world.released).toEqual([['a', '2026-10', 'lease', 2]]);
  world.rateLimiter.release({ ...admitted.reservation, lease: '' }, 2);
  expect(world.released).toHaveLength(1);
  world.answer = new Error('away');
  world.rateLimiter.release(admitted.reservation, 1);
  await vi.advanceTimersByTimeAsync(1);
  expect(world.doubts).toBe(1);
  world.rateLimiter.markUncertain({ ...admitted.reservation, lease: '' });
  expect(world.doubts).toBe(1);
  world.rateLimiter.markUncertain(admitted.reservation);
  expect(world.doubts).toBe(2);
});

test('a request that counts as several is charged for in one call, and none of them counts as refused', async () => {
  const rate = { limit: 2, remaining: 0, resetMs: 4_000 };
  world.answer = { verdict: { ok: false, kind: 'ip', waitMs: 4_000, rate }, granted: 0, known: 0 };
  await world.rateLimiter.charge(REQUESTER, NOW_MS, 30);
  expect(world.asked).toMatchObject([{ key: 'k', requests: 30, wanted: 0, lease: '' }]);
  expect(await world.metrics.text()).not.toMatch(/^svc_edge_limited_total\{.*\} [1-9]/m);
  await admit(1);
  expect(await world.metrics.text()).toMatch(/^svc_edge_limited_total\{.*\} 1$/m);
});
