import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Redis } from '#infra/redis/connection.ts';
import {
  type AdmissionStoreOptions,
  createAdmissionStore,
  quotaKey,
  type RateLimitStore,
} from '#infra/redis/quota/admission.ts';
import { createQuotaStore } from '#infra/redis/quota/quota.ts';
import type { AdmissionRequest } from '#pipelines/quota/limits.ts';
import { rateLimitSuite } from '#test/contract/limits/suite.ts';
import { onCluster, useRedis } from '#test/harness/redis.ts';
import { redisByClock } from '#test/harness/redis_clock.ts';

const redis = useRedis();
const MONTH = '2026-10';

function open(options: Partial<AdmissionStoreOptions> = {}, on: Redis = redis()): RateLimitStore {
  const limits = { windowMs: 10_000, perIp: 0, perKey: 0 };
  return createAdmissionStore(on, {
    limits,
    cluster: onCluster(),
    checkpointsWanted: 0,
    deadlineMs: 60_000,
    ...options,
  });
}

function request(fields: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const usual = {
    address: null,
    key: null,
    keyLimit: null,
    requests: 1,
    accountId: randomUUID(),
    month: MONTH,
    monthLimit: 100,
    wanted: 1,
  };
  return { ...usual, lease: 'lease', ...fields };
}

let nowMs = Date.UTC(2026, 9, 1);
const clock = {
  nowMs: () => nowMs,
  async sleep(ms: number) {
    nowMs += ms;
  },
};

for (const cluster of onCluster() ? [true] : [false, true]) {
  rateLimitSuite(
    `rate limits in Redis${cluster ? ', for a cluster' : ''}`,
    (limits) => {
      const store = open({ limits, cluster }, redisByClock(redis(), clock.nowMs));
      return async (address, key, keyLimit, requests = 1) =>
        (await store.admit(request({ address, key, keyLimit: keyLimit ?? null, requests }))).verdict;
    },
    clock,
  );

  test(`what the limit of an address refuses takes nothing from the key (cluster: ${cluster})`, async () => {
    const store = open(
      { limits: { windowMs: 10_000, perIp: 5, perKey: 20 }, cluster },
      redisByClock(redis(), clock.nowMs),
    );
    const [key, address] = [randomUUID(), randomUUID()];
    const flood = await Promise.all(Array.from({ length: 100 }, () => store.admit(request({ key, address }))));
    expect(flood.filter(({ verdict }) => verdict.ok)).toHaveLength(5);
    for (let at = 0; at < 15; at += 1) {
      expect((await store.admit(request({ key, address: randomUUID() }))).verdict.ok).toBe(true);
    }
  });

  test(`a clock that is set back has nobody wait for it (cluster: ${cluster})`, async () => {
    const store = open(
      { limits: { windowMs: 10_000, perIp: 0, perKey: 5 }, cluster },
      redisByClock(redis(), clock.nowMs),
    );
    const key = randomUUID();
    const passes = async (): Promise<boolean> => (await store.admit(request({ key }))).verdict.ok;
    for (let at = 0; at < 5; at += 1) expect(await passes()).toBe(true);
    expect(await passes()).toBe(false);
    nowMs -= 600_000;
    expect(await passes()).toBe(true);
    nowMs += 600_000;
  });

  test(`two edges reserve no more than the limit, whoever comes first (cluster: ${cluster})`, async () => {
    const edges = [open({ cluster }), open({ cluster })];
    const accountId = randomUUID();
    const wanted = [50, 1, 0, 7, 50, 3, 50, 50];
    const admitted = await Promise.all(
      wanted.map((events, at) =>
        (edges[at % 2] as RateLimitStore).admit(request({ accountId, wanted: events, lease: `edge ${at % 2}` })),
      ),
    );
    expect(admitted.reduce((sum, { granted }) => sum + (granted ?? 0), 0)).toBe(100);
    expect(admitted.every(({ granted }, at) => granted !== null && granted <= (wanted[at] ?? 0))).toBe(true);
    expect(await redis().hget(quotaKey(accountId, MONTH), 'held')).toBe('100');
  });

  test(`a limited request reserves nothing (cluster: ${cluster})`, async () => {
    const store = open({ cluster, limits: { windowMs: 10_000, perIp: 0, perKey: 1 } });
    const [accountId, key] = [randomUUID(), randomUUID()];
    expect(await store.admit(request({ accountId, key, wanted: 3 }))).toMatchObject({ granted: 3, known: 3 });
    expect(await store.admit(request({ accountId, key, wanted: 4 }))).toMatchObject({
      verdict: { ok: false, kind: 'key' },
      granted: 0,
    });
    expect(await redis().hget(quotaKey(accountId, MONTH), 'held')).toBe('3');
  });
}

test('what is released can be granted again', async () => {
  const store = open();
  const accountId = randomUUID();
  await store.admit(request({ accountId, wanted: 100 }));
  expect(await store.admit(request({ accountId, wanted: 5 }))).toMatchObject({ granted: 0, known: 100 });
  await store.release(accountId, MONTH, 'lease', 40);
  expect(await store.admit(request({ accountId, wanted: 50 }))).toMatchObject({ granted: 40, known: 100 });
});

// In a cluster the checkpoints lie on another node: the renewal of the leases looks at them.
if (!onCluster()) {
  test('without its checkpoints a month is not known, and nothing is reserved', async () => {
    await redis().flushdb();
    const store = open({ checkpointsWanted: 2 });
    const quota = createQuotaStore(redis());
    const accountId = randomUUID();
    await quota.begin(0, 'me');
    await quota.checkpoint(0, 1, 'me');
    expect(await store.admit(request({ accountId }))).toMatchObject({ verdict: { ok: true }, granted: null });
    expect(await redis().exists(quotaKey(accountId, MONTH))).toBe(0);
    await quota.begin(1, 'me');
    await quota.checkpoint(1, 1, 'me');
    expect(await store.admit(request({ accountId }))).toMatchObject({ granted: 1 });
  });
}

test('a lease is dead when its lease was not renewed', async () => {
  await redis().flushdb();
  const store = open();
  const quota = createQuotaStore(redis());
  await store.renew(['short', 'long', 'other'], 60_000);
  expect(await quota.expiredLeases()).toEqual([]);
  await store.renew(['short'], 0);
  expect(await quota.expiredLeases()).toEqual(['short']);
  await quota.forgetLease('short');
  expect(await quota.expiredLeases()).toEqual([]);
});
