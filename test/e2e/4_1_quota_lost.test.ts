import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { countedUsage } from '#test/harness/quota_counter.ts';
import { startSecondEdge } from '#test/harness/second_edge.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const LEASE_MS = 5_000;
const WAIT_MS = 30_000;

const fresh = (count: number): SentEvent[] => Array.from({ length: count }, () => newEvent());

function whenCounted(site: TestSite, used: number, held: number) {
  return until(
    `${used} used and ${held} held`,
    () => countedUsage(service, site.account),
    (counted) => counted.used === used && counted.held === held,
    { timeoutMs: WAIT_MS, everyMs: 100 },
  );
}

test('what an edge reserved before it died, and never produced, is given back', { timeout: 90_000 }, async () => {
  const site = await makeSite(service, { allowance: 100 });
  expect(await postEvents(service.ready.edge, site.serverKey, fresh(20))).toMatchObject({ body: { accepted: 20 } });
  await whenCounted(site, 20, 0);

  const dying = await startSecondEdge(service, {
    FAILPOINT: 'edge.before_send',
    FAILPOINTS_ALLOWED: 'true',
    EDGE_LEASE_MS: String(LEASE_MS),
  });
  await expect(postEvents(dying.url, site.serverKey, fresh(40))).rejects.toThrow();
  expect(await countedUsage(service, site.account)).toEqual({ used: 20, held: 40 });
  await whenCounted(site, 20, 0);

  const rest = await Promise.all(
    [50, 50, 50].map((count) => postEvents(service.ready.edge, site.serverKey, fresh(count))),
  );
  const accepted = rest.map(({ body }) => (body as { accepted: number }).accepted);
  expect(accepted.reduce((sum, count) => sum + count, 0)).toBe(100);
  await whenCounted(site, 120, 0);
  await site.close();
});

test('counters that Redis lost are put back from what was published', { timeout: 90_000 }, async () => {
  const site = await makeSite(service, { allowance: 100 });
  for (const count of [50, 10]) await postEvents(service.ready.edge, site.serverKey, fresh(count));
  await whenCounted(site, 60, 0);

  const redis = new Redis(service.ready.redis);
  const keys = await redis.keys('q:*');
  expect(keys.length).toBeGreaterThan(0);
  await redis.del(...keys);
  redis.disconnect();
  await whenCounted(site, 60, 0);

  await until(
    'the edge counts with the others again',
    async () => {
      const { body } = await postEvents(service.ready.edge, site.serverKey, fresh(1));
      return (body as { accepted: number }).accepted === 1 && (await countedUsage(service, site.account)).held > 0;
    },
    (isShared) => isShared,
    // Each look costs an event of the month: not so many that it is full before the edge has noticed.
    { timeoutMs: 12_000, everyMs: 300 },
  );
  await until(
    'nothing is held',
    () => countedUsage(service, site.account),
    ({ held }) => held === 0,
    { timeoutMs: WAIT_MS },
  );
  const { used } = await countedUsage(service, site.account);
  const more = await Promise.all([50, 50].map((count) => postEvents(service.ready.edge, site.serverKey, fresh(count))));
  const accepted = more.map(({ body }) => (body as { accepted: number }).accepted);
  expect(accepted.reduce((sum, count) => sum + count, 0)).toBe(120 - used);
  await whenCounted(site, 120, 0);
  await site.close();
});
