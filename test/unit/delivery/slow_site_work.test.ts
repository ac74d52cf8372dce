import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import { BREAKER_DEFAULTS, createBreakers, createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { slowTopic } from '#pipelines/delivery/retry_topics.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { Setting } from '#schemas/setting.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { createAttempts } from '#services/delivery/attempts.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';
import { answered } from './harness.ts';
import { mainJob } from './jobs.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const EVENTS = 40;

/** Webhooks that answer one after the other, each after as long as is given. */
function world({ tookMs, isAlone = false }: { tookMs: number; isAlone?: boolean }) {
  const time = { nowMs: NOW_MS };
  const nowMs = (): number => time.nowMs;
  const table = createSettingsTable();
  const ring = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const place = { siteId: 'site_1', destination: 'webhook', field: 'secret' };
  const secret = sealSecret(ring, place, `whsec_${Buffer.alloc(32, 7).toString('base64')}`, randomBytes);
  const settings = { url: 'https://slow.example/' };
  const destination = { site_id: 'site_1', name: 'webhook', enabled: true, settings, secrets: { secret } };
  table.apply('site/site_1', { ...BLANK, site: siteOf({ site_id: 'site_1' }) });
  table.apply('destination/site_1/webhook', { ...BLANK, destination });
  const slow = createSlowSites(10, nowMs);
  const sent: string[] = [];
  const attempts = createAttempts({
    ...{ adapter: webhook, baseUrl: null, table, ring, nowMs, monotonicMs: nowMs, slow, isAlone: () => isAlone },
    ...{ breakers: createBreakers(BREAKER_DEFAULTS, 10, nowMs), turns: createSiteConcurrencyLimiter(1, slow.isSlow) },
    ...{ uncommitted: createUncommittedOutcomes(100), rejections: createRejectionTracker(10, nowMs) },
    ...{ returned: () => undefined, onPartialSuccess: () => undefined, logger: createLogger('test', 'silent') },
    watch: { trouble: () => null, report: () => undefined },
    egress: {
      async send({ headers }) {
        sent.push(headers['webhook-id'] as string);
        time.nowMs += tookMs;
        return answered(200, '');
      },
      close: async () => undefined,
    },
  });

  /** How many of so many events have each outcome. */
  async function make(source: { topic: string; partition: number }, stopping = false): Promise<Record<string, number>> {
    const writer = createBatchWriter(1);
    for (let index = 0; index < EVENTS; index++) {
      writer.add(
        null,
        noPerson(),
        encodeEvent(entryOf({ site_id: 'site_1', event_id: `${time.nowMs}-${index}` }).event),
      );
    }
    const views = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
    const made = await attempts.make(
      mainJob('site_1', views, { source }, sent.length),
      () => stopping && sent.length > 0,
    );
    const names = made.map(({ outcome }) => `${outcome.outcome} ${outcome.reason}`.trim());
    return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
  }
  return { make, slow, sent };
}

const MAIN = { topic: 'events.identified', partition: 0 };
const SLOW = { topic: slowTopic('webhook'), partition: 0 };

test('a site is worked at for two seconds, then its rest and all that comes goes to the lane of slow sites', async () => {
  const { make, slow, sent } = world({ tookMs: 200 });
  expect(await make(MAIN)).toEqual({ delivered: 10, 'paused slow': 30 });
  expect(slow.isSlow('site_1')).toBe(true);
  expect(await make(MAIN)).toEqual({ 'paused slow': 40 });
  expect(sent.length).toBe(10);
});

test('on that lane it is worked at for ten seconds at a time', async () => {
  const { make } = world({ tookMs: 500 });
  expect(await make(SLOW)).toEqual({ delivered: 20, 'paused slow': 20 });
});

test('a site that is done in time, and one for which no other waits, goes nowhere else', async () => {
  expect(await world({ tookMs: 49 }).make(MAIN)).toEqual({ delivered: 40 });
  const alone = world({ tookMs: 2_000, isAlone: true });
  expect(await alone.make(MAIN)).toEqual({ delivered: 40 });
  expect(alone.slow.isSlow('site_1')).toBe(false);
});

test('what is not begun because the process stops is handed over, and says nothing of the site', async () => {
  const { make, slow } = world({ tookMs: 3_000 });
  expect(await make(MAIN, true)).toEqual({ delivered: 1, 'paused handed_over': 39 });
  expect(slow.isSlow('site_1')).toBe(false);
});
