import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { realClients } from '#test/harness/real_clients.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const { Analytics, PostHog, Rudder } = await realClients();
const CALLS = 120;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

interface Row {
  event: string;
  distinct_id: string;
  identify: boolean;
  hashed: boolean;
}

/** The rows of the visitors whose ids begin with a prefix, by event and visitor. */
const rowsOf = (prefix: string): Promise<Row[]> =>
  select<Row>(
    clickhouse,
    `SELECT event, distinct_id, identify, toBool(email_sha256 != '') AS hashed FROM events
     WHERE site_id = {site:String} AND startsWith(distinct_id, {prefix:String}) ORDER BY event, distinct_id`,
    { site: site.site, prefix },
  );

async function stored(prefix: string, count: number): Promise<Row[]> {
  await until(
    `${count} rows of ${prefix}`,
    () => rowsOf(prefix),
    (rows) => rows.length >= count,
    { timeoutMs: 30_000 },
  );
  return rowsOf(prefix);
}

test('Segment’s library for Node', async () => {
  const errors: unknown[] = [];
  const analytics = new Analytics({ writeKey: site.serverKey, host: edge, flushAt: 30 });
  analytics.on('error', (error) => errors.push(error));
  for (let index = 0; index < CALLS; index++) analytics.track({ userId: `seg-${index}`, event: 'Seen' });
  analytics.identify({ userId: 'seg-jane', anonymousId: 'seg-anon', traits: { email: 'zyx.jane@example.com' } });
  analytics.page({ anonymousId: 'seg-anon', name: 'Home', properties: { url: 'https://shop.example/' } });
  analytics.screen({ anonymousId: 'seg-anon', name: 'Cart' });
  analytics.group({ userId: 'seg-jane', groupId: 'g1', traits: { plan: 'pro' } });
  analytics.alias({ userId: 'seg-jane', previousId: 'seg-before' });
  await analytics.closeAndFlush();
  expect(errors).toEqual([]);
  const rows = await stored('seg-', CALLS + 5);
  expect(rows).toHaveLength(CALLS + 5);
  const others = rows.filter(({ event }) => event !== 'Seen').map(({ event, distinct_id }) => [event, distinct_id]);
  expect(others).toEqual([
    ['$create_alias', 'seg-jane'],
    ['$groupidentify', 'seg-jane'],
    ['$identify', 'seg-jane'],
    ['page_view', 'seg-anon'],
    ['screen_view', 'seg-anon'],
  ]);
  expect(rows.find(({ event }) => event === '$identify')).toMatchObject({ identify: true, hashed: true });
});

test('what Segment’s library linked is one person', async () => {
  const persons = await until(
    'one person',
    () =>
      select<{ persons: number }>(
        clickhouse,
        `SELECT toInt32(uniqExact(person_id)) AS persons FROM events
         WHERE site_id = {site:String} AND distinct_id IN ('seg-jane', 'seg-anon', 'seg-before')`,
        { site: site.site },
      ),
    ([row]) => row?.persons === 1,
    { timeoutMs: 20_000 },
  );
  expect(persons).toEqual([{ persons: 1 }]);
});

test('PostHog’s library for Node', async () => {
  const errors: unknown[] = [];
  const posthog = new PostHog(site.serverKey, { host: edge, flushAt: 30 });
  posthog.on('error', (error) => errors.push(error));
  for (let index = 0; index < CALLS; index++) posthog.capture({ distinctId: `ph-${index}`, event: 'Seen' });
  posthog.identify({ distinctId: 'ph-jane', properties: { email: 'zyx.jane@example.com' } });
  posthog.alias({ distinctId: 'ph-jane', alias: 'ph-before' });
  await posthog.captureImmediate({ distinctId: 'ph-now', event: 'Now' });
  expect(await posthog.getFeatureFlag('any', 'ph-jane')).toBeUndefined();
  await posthog.shutdown();
  expect(errors).toEqual([]);
  const rows = await stored('ph-', CALLS + 4);
  const others = rows.filter(({ event }) => event !== 'Seen').map(({ event, distinct_id }) => [event, distinct_id]);
  expect(rows).toHaveLength(CALLS + others.length);
  expect(others).toEqual([
    ['$create_alias', 'ph-jane'],
    ['$feature_flag_called', 'ph-jane'],
    ['$identify', 'ph-jane'],
    ['Now', 'ph-now'],
  ]);
  expect(rows.find(({ event }) => event === '$identify')).toMatchObject({ identify: true, hashed: true });
});

test('RudderStack’s library for Node', async () => {
  const rudder = new Rudder(site.serverKey, { dataPlaneUrl: edge, flushAt: 30 });
  const failures: unknown[] = [];
  const done = (error?: unknown): void => void (error !== undefined && error !== null && failures.push(error));
  const timestamp = new Date(Date.now() - 90 * 86_400_000);
  for (let index = 0; index < CALLS; index++) rudder.track({ userId: `rud-${index}`, event: 'Seen', timestamp }, done);
  rudder.identify({ userId: 'rud-jane', traits: { email: 'zyx.jane@example.com' } }, done);
  await new Promise<void>((resolve, reject) => rudder.flush((error) => (error ? reject(error) : resolve())));
  const rows = await stored('rud-', CALLS + 1);
  expect(failures).toEqual([]);
  expect(rows).toHaveLength(CALLS + 1);
  const times = await select<{ at: string }>(
    clickhouse,
    `SELECT DISTINCT toString(toUnixTimestamp64Milli(timestamp)) AS at FROM events
     WHERE site_id = {site:String} AND event = 'Seen' AND startsWith(distinct_id, 'rud-')`,
    { site: site.site },
  );
  expect(times).toEqual([{ at: String(timestamp.getTime()) }]);
  expect(rows.find(({ event }) => event === '$identify')).toMatchObject({ identify: true, hashed: true });
});

test('over the month’s allowance Segment’s library tells its caller and sends no more, and RudderStack’s does not throw', async () => {
  const spent = await makeSite(service, { allowance: 0 });
  const analytics = new Analytics({ writeKey: spent.serverKey, host: edge, flushAt: 1 });
  const errors: string[] = [];
  let requests = 0;
  analytics.on('error', (error) => errors.push(String((error as { reason?: unknown }).reason)));
  analytics.on('http_request', () => requests++);
  analytics.track({ userId: 'seg-spent', event: 'Seen' });
  await analytics.closeAndFlush();
  expect([requests, errors]).toEqual([1, ['Error: [402] Payment Required']]);
  const rudder = new Rudder(spent.serverKey, { dataPlaneUrl: edge, flushAt: 1 });
  const failure = await new Promise((resolve) => rudder.track({ userId: 'rud-spent', event: 'Seen' }, resolve));
  expect(failure).toBeUndefined();
  await spent.close();
});
