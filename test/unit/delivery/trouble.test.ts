import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import {
  BREAKER_DEFAULTS,
  createBreakers,
  createRejectionTracker,
  OUTAGE_DEFAULTS,
} from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import type { Answer } from '#pipelines/delivery/contract.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { Setting } from '#schemas/setting.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { createAttempts } from '#services/delivery/attempts.ts';
import { watchOutage } from '#services/delivery/delivery_ports.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';
import { answered } from './harness.ts';
import { mainJob } from './jobs.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const SITES = ['a', 'b', 'c', 'd'];

/** A delivery to Meta whose platform answers as it is told, with a clock that is moved by hand. */
function world(sites = SITES, ids = ['meta']) {
  const ring = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const table = createSettingsTable();
  for (const [site_id, name] of sites.flatMap((site) => ids.map((id) => [site, id] as const))) {
    const place = { siteId: site_id, destination: name, field: 'access_token' };
    const secrets = { access_token: sealSecret(ring, place, 'token', randomBytes) };
    const destination = { site_id, name, enabled: true, settings: { pixel_id: '1234567890' }, secrets };
    table.apply(`site/${site_id}`, { ...BLANK, site: siteOf({ site_id }) });
    table.apply(`destination/${site_id}/${name}`, { ...BLANK, destination });
  }
  const clock = { nowMs: NOW_MS };
  const platform: { answer: Answer; calls: number } = { answer: answered(500, ''), calls: 0 };
  const nowMs = (): number => clock.nowMs;
  const logger = createLogger('test', 'silent');
  const breakers = createBreakers(BREAKER_DEFAULTS, 100, nowMs);
  const watch = watchOutage({
    destination: 'meta',
    config: OUTAGE_DEFAULTS,
    breakers,
    bySite: table.destinationsOfKind('meta'),
    logger,
    nowMs,
    wallMsOf: (ms) => ms,
  });
  const send = async (): Promise<Answer> => {
    platform.calls += 1;
    return platform.answer;
  };
  const attempts = createAttempts({
    slow: createSlowSites(10, () => 0),
    isAlone: () => false,
    returned: () => undefined,
    ...{ adapter: meta, baseUrl: null, table, ring, breakers, watch, logger, nowMs, monotonicMs: nowMs },
    turns: createSiteConcurrencyLimiter(10),
    uncommitted: createUncommittedOutcomes(100),
    rejections: createRejectionTracker(10, nowMs),
    onPartialSuccess: () => undefined,
    egress: { send, close: async () => undefined },
  });
  let offset = 0;
  /** Attempts one event of a site and says what became of it. */
  async function attempt(siteId: string, isMain = true, destination = 'meta'): Promise<string> {
    const writer = createBatchWriter(1);
    writer.add(null, noPerson(), encodeEvent(entryOf({ site_id: siteId }).event));
    const views = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
    const [one] = await attempts.make(mainJob(siteId, views, { isMain, destination }, offset++), () => false);
    return `${one?.outcome.outcome} ${one?.outcome.reason}`.trim();
  }
  return { clock, platform, breakers, watch, attempt };
}

const WELL = answered(200, { events_received: 1 });

test('a site that fails is not asked from the main topic until one of its lanes has found it well', async () => {
  const { clock, platform, attempt, watch } = world();
  for (let failure = 0; failure < 5; failure++) expect(await attempt('a')).toBe('diverted http_500');
  expect(await attempt('a')).toBe('paused breaker_open');
  expect(watch.awayUntilMs()).toBeNull();
  clock.nowMs += BREAKER_DEFAULTS.openMs;
  platform.answer = WELL;
  expect(await attempt('a')).toBe('paused breaker_open');
  expect(platform.calls).toBe(5);
  expect(await attempt('b')).toBe('delivered');
  expect(await attempt('a', false)).toBe('delivered');
  expect(await attempt('a')).toBe('delivered');
});

test('two calls that take all their time are enough', async () => {
  const { platform, attempt } = world();
  platform.answer = { kind: 'no_answer', reason: 'timeout' };
  expect([await attempt('a'), await attempt('a'), await attempt('a')]).toEqual([
    'diverted timeout',
    'diverted timeout',
    'paused breaker_open',
  ]);
});

test('while the destination is away nobody is asked, and afterwards no site is held by what it was then', async () => {
  const { clock, platform, attempt, watch, breakers } = world();
  for (const site of ['a', 'b', 'c', 'a', 'b', 'c']) await attempt(site);
  expect(watch.awayUntilMs()).toBe(NOW_MS + OUTAGE_DEFAULTS.awayMs);
  expect([await attempt('d'), await attempt('a', false), platform.calls]).toEqual([
    'paused breaker_open',
    'paused breaker_open',
    6,
  ]);
  expect(breakers.list()).toEqual([]);
  clock.nowMs += OUTAGE_DEFAULTS.awayMs;
  expect(watch.ask().kind).toBe('probe');
  platform.answer = WELL;
  expect(await attempt('a')).toBe('delivered');
  expect([watch.awayUntilMs(), watch.ask().kind, await attempt('b')]).toEqual([null, 'go', 'delivered']);
});

test.for<[string, number]>([
  ['fails', 500],
  ['is throttled', 429],
])('a further destination of the only site that %s does not turn the other away', async ([, status]) => {
  const { clock, platform, attempt, watch } = world(['a'], ['meta', 'meta-eu']);
  platform.answer = answered(status, '');
  for (let failure = 0; failure < 2 * OUTAGE_DEFAULTS.failuresMax; failure++) {
    clock.nowMs += BREAKER_DEFAULTS.openMs * 100;
    await attempt('a', false, 'meta-eu');
  }
  expect(platform.calls).toBeGreaterThan(OUTAGE_DEFAULTS.failuresMax);
  expect([watch.awayUntilMs(), watch.ask().kind]).toEqual([null, 'go']);
  platform.answer = WELL;
  expect(await attempt('a')).toBe('delivered');
});
