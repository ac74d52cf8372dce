import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import { BREAKER_DEFAULTS, createBreakers, createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import { type Destination, type Setting, type Site, TAG_DEFAULTS } from '#schemas/setting.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { createAttempts } from '#services/delivery/attempts.ts';
import type { SiteJob } from '#services/delivery/job_reader.ts';
import { sampleEvent } from '../schemas/sample_event.ts';
import { mainJob } from './jobs.ts';

const SITE: Site = {
  site_id: 'site_1',
  account_id: 'account_1',
  name: 'Shop',
  mode: 'online',
  business_category: 'ecommerce_retail',
  default_country: null,
  identify_events: null,
  server_only_events: [],
  clarity_project_id: null,
  gtm_container_id: null,
  tag: TAG_DEFAULTS,
  domains: [],
  loader_prefix: null,
  block_rules: [],
  event_definitions: [],
};
const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const CREATED_AT = 1_000_000;

/** What becomes of events received one millisecond before, at and after a destination was made. */
async function outcomes(destination: Partial<Destination>, changes: Partial<SiteJob>): Promise<string[]> {
  const table = createSettingsTable();
  const made = { site_id: 'site_1', name: 'webhook', enabled: true, settings: {}, secrets: {}, ...destination };
  table.apply('site/site_1', { ...BLANK, site: SITE });
  table.apply('destination/site_1/webhook', { ...BLANK, destination: made });
  const attempts = createAttempts({
    slow: createSlowSites(10, () => 0),
    isAlone: () => false,
    returned: () => undefined,
    adapter: webhook,
    baseUrl: null,
    table,
    ring: parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`),
    breakers: createBreakers(BREAKER_DEFAULTS, 10, () => CREATED_AT),
    turns: createSiteConcurrencyLimiter(10),
    uncommitted: createUncommittedOutcomes(100),
    rejections: createRejectionTracker(10, () => CREATED_AT),
    onPartialSuccess: () => undefined,
    watch: { trouble: () => null, report: () => undefined },
    egress: { send: () => Promise.reject(new Error('nothing is sent without a secret')), close: async () => {} },
    logger: createLogger('test', 'silent'),
    nowMs: () => CREATED_AT,
    monotonicMs: () => CREATED_AT,
  });
  const writer = createBatchWriter(1);
  for (const after of [-1, 0, 1])
    writer.add(null, noPerson(), encodeEvent(sampleEvent({ site_id: 'site_1', received_at: CREATED_AT + after })));
  const views = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
  const results = await attempts.make(mainJob('site_1', views, changes), () => false);
  return results.map(({ outcome }) => (outcome.outcome === 'skipped' ? outcome.reason : 'attempted'));
}

test('what was received before the destination was made is skipped', async () => {
  expect(await outcomes({ created_at: CREATED_AT }, {})).toEqual(['before_destination', 'attempted', 'attempted']);
});

test('a replay sends what was received before, and so does a destination of unknown age', async () => {
  expect(await outcomes({ created_at: CREATED_AT }, { isMain: false })).toEqual([
    'attempted',
    'attempted',
    'attempted',
  ]);
  expect(await outcomes({ created_at: null }, {})).toEqual(['attempted', 'attempted', 'attempted']);
});

test('what waits for a destination that was deleted is not for another of its id; what is replayed to that one is', async () => {
  const attemptedFrom = (firstAttemptedAtMs: number) =>
    outcomes({ created_at: CREATED_AT }, { isMain: false, attempt: 2, firstAttemptedAtMs });
  expect(await attemptedFrom(CREATED_AT - 1)).toEqual(['before_destination', 'attempted', 'attempted']);
  expect(await attemptedFrom(CREATED_AT)).toEqual(['attempted', 'attempted', 'attempted']);
  const askedAt = (askedAtMs: number) => outcomes({ created_at: CREATED_AT }, { isMain: false, askedAtMs });
  expect(await askedAt(CREATED_AT - 1)).toEqual(['before_destination', 'attempted', 'attempted']);
  expect(await askedAt(CREATED_AT)).toEqual(['attempted', 'attempted', 'attempted']);
});
