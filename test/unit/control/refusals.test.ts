import { beforeEach, expect, test } from 'vitest';
import type { RejectionSample } from '#pipelines/ingestion_warnings/warnings.ts';
import { keyIdOf } from '#pipelines/settings/callers.ts';
import { NOW_MS } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOUR = NOW_MS / HOUR_MS - 1;
const MALFORMED = { kind: 'rejected', code: 'timestamp_invalid' } as const;

let world: ScopedWorld;
let sample: RejectionSample;
beforeEach(async () => {
  world = await scopedWorld();
  const keyId = keyIdOf(world.keys.shop);
  sample = { atMs: NOW_MS - 5, ...MALFORMED, keyId, caller: 'browser', event: 'buy', index: 1, fields: ['event'] };
  world.rejections.set('shop', {
    sinceMs: NOW_MS - DAY_MS,
    hours: [
      { hour: HOUR, ...MALFORMED, count: 4 },
      { hour: HOUR - 30, kind: 'refused', code: 'origin_not_allowed', count: 9 },
    ],
    samples: [sample, { ...sample, keyId: 'gone', atMs: NOW_MS - 2 * DAY_MS }, { ...sample, keyId: null }],
  });
});

const path = '/v1/admin/sites/shop/refusals';

test('the counts of 7 days, by day, and the samples with the keys that they came with', async () => {
  const { status, body } = await world.call('GET', path);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ site_id: 'shop', from: NOW_MS - 7 * DAY_MS, to: NOW_MS, interval: 'day', known_since: NOW_MS - DAY_MS },
    totals: [
      { code: 'origin_not_allowed', count: 9 },
      { code: 'timestamp_invalid', count: 4 },
    ],
  });
  expect(body.counts).toHaveLength(2);
  const shown = { key_id: keyIdOf(world.keys.shop), shown_prefix: expect.stringMatching(/^svc_pk_/), label: '' };
  expect(body.samples[0]).toEqual({
    ...{ at: NOW_MS - 5, ...MALFORMED, event: 'buy', index: 1, fields: ['event'], caller: 'browser' },
    key: shown,
  });
  expect(body.samples.map(({ key }: { key: unknown }) => key)).toEqual([
    shown,
    { key_id: 'gone', shown_prefix: null, label: null },
    null,
  ]);
});

test('of a time that is asked for, by hour', async () => {
  const { body } = await world.call('GET', `${path}?from=${NOW_MS - HOUR_MS}&to=${NOW_MS}&interval=hour`);
  expect(body.counts).toEqual([{ at: HOUR * HOUR_MS, ...MALFORMED, count: 4 }]);
  expect(body.samples).toHaveLength(2);
});

test('who may see figures but no single events gets no samples', async () => {
  const token = await world.tokenOf(grantOf('viewer', { site_id: 'shop' }));
  const { status, body } = await world.call('GET', path, { token });
  expect([status, body.samples, body.totals.length]).toEqual([200, null, 2]);
});

test('where no edge has counted, or longer ago than is kept', async () => {
  expect((await world.call('GET', '/v1/admin/sites/till/refusals')).body).toMatchObject({
    ...{ known_since: null, totals: [], counts: [], samples: [] },
  });
  world.rejections.set('till', { sinceMs: 5, hours: [], samples: [] });
  const { body } = await world.call('GET', '/v1/admin/sites/till/refusals');
  expect(body.known_since).toBe(NOW_MS - 7 * DAY_MS);
});

test('what cannot be answered', async () => {
  world.rejections.set('shop', 'away');
  expect((await world.call('GET', path)).body.error.code).toBe('refusals_unavailable');
  expect((await world.call('GET', '/v1/admin/sites/none/refusals')).body.error.code).toBe('site_unknown');
  expect((await world.call('GET', `${path}?interval=week`)).body.error.code).toBe('settings_invalid');
});
