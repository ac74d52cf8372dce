import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { createRejectionReporter, markRejectionsCounted, readRejections } from '#infra/redis/edge_reports.ts';
import {
  countRejection,
  HOUR_MS,
  type IngestionWarning,
  newRejectionCounts,
  type RejectionCounts,
  type RejectionSample,
} from '#pipelines/ingestion_warnings/warnings.ts';
import { useRedis } from '#test/harness/redis.ts';
import { redisByClock } from '#test/harness/redis_clock.ts';

const NOW_HOUR = 480_000;
const NOW_MS = NOW_HOUR * HOUR_MS;
const MALFORMED: IngestionWarning = { kind: 'rejected', code: 'event_name_missing' };
const BOT: IngestionWarning = { kind: 'dropped', code: 'bot' };

const redis = useRedis();
let siteId: string;
beforeEach(() => {
  siteId = `test-${randomUUID()}`;
});

let number = 0;
const note = (notes: RejectionCounts, nowMs = NOW_MS) =>
  createRejectionReporter(
    redisByClock(redis(), () => nowMs),
    'edge-1',
  )(siteId, notes, ++number);
const read = () => readRejections(redis(), siteId);
const told = { keyId: 'k', caller: 'server', event: 'buy', index: 3, fields: ['event', 'properties.value'] } as const;

function counted(...rejections: [IngestionWarning, number][]): RejectionCounts {
  const notes = newRejectionCounts();
  for (const [refusal, atMs] of rejections) countRejection(notes, refusal, atMs, () => told);
  return notes;
}

const sampled = (samples: RejectionSample[]): RejectionCounts => ({ ...counted([MALFORMED, NOW_MS]), samples });
const sampleAt = (refusal: IngestionWarning, atMs: number): RejectionSample => ({ atMs, ...refusal, ...told });

test('what an edge passes on again counts once, and what another edge has under the same number counts too', async () => {
  const [one, other] = ['edge-2', 'edge-3'].map((edge) =>
    createRejectionReporter(
      redisByClock(redis(), () => NOW_MS),
      edge,
    ),
  );
  const notes = counted([MALFORMED, NOW_MS]);
  for (const report of [one, one, other]) await report?.(siteId, notes, 1);
  await one?.(siteId, notes, 2);
  await one?.(siteId, notes, 1);
  expect((await read()).hours).toEqual([{ hour: NOW_HOUR, ...MALFORMED, count: 3 }]);
});

test('of a site of which nothing was refused, nothing is told', async () => {
  expect(await read()).toMatchObject({ hours: [], samples: [] });
});

test('what several edges noted is one record, in whatever order it comes', async () => {
  await note(counted([MALFORMED, NOW_MS + 5], [MALFORMED, NOW_MS + 6], [BOT, NOW_MS + 7]));
  await note(counted([MALFORMED, NOW_MS - HOUR_MS], [MALFORMED, NOW_MS + 1]));
  const { hours, samples } = await read();
  expect(hours.toSorted((a, b) => a.hour - b.hour || a.count - b.count)).toEqual([
    { hour: NOW_HOUR - 1, ...MALFORMED, count: 1 },
    { hour: NOW_HOUR, ...BOT, count: 1 },
    { hour: NOW_HOUR, ...MALFORMED, count: 3 },
  ]);
  expect(samples.map(({ atMs }) => atMs - NOW_MS)).toEqual([7, 6, 5, 1, -HOUR_MS]);
  expect(samples[0]).toEqual(sampleAt(BOT, NOW_MS + 7));
});

test('notes that come twice, as an answer was lost, sample an event once', async () => {
  const notes = counted([MALFORMED, NOW_MS]);
  await note(notes);
  await note(notes);
  expect((await read()).samples).toHaveLength(1);
});

test('of a reason the newest 20 samples are kept, and those of a rare one stay', async () => {
  await note(sampled([sampleAt(BOT, NOW_MS)]));
  for (let at = 1; at <= 30; at += 1) await note(sampled([sampleAt(MALFORMED, NOW_MS + at)]));
  const { samples } = await read();
  expect(samples.map(({ atMs }) => atMs - NOW_MS)).toEqual([...Array.from({ length: 20 }, (_, at) => 30 - at), 0]);
});

test('100 samples of a site are kept; of the most frequent reasons the oldest give way', async () => {
  await note(sampled([sampleAt(BOT, NOW_MS)]));
  for (let code = 0; code < 8; code += 1) {
    const refusal: IngestionWarning = { kind: 'refused', code: `c${code}` };
    await note(sampled(Array.from({ length: 20 }, (_, at) => sampleAt(refusal, NOW_MS + 1 + code * 100 + at))));
  }
  const { samples } = await read();
  expect(samples).toHaveLength(100);
  const byCode = Map.groupBy(samples, ({ code }) => code);
  expect(byCode.get('bot')).toHaveLength(1);
  const sizes = [...byCode].flatMap(([code, of]) => (code === 'bot' ? [] : [of.length]));
  expect([sizes.length, Math.max(...sizes) - Math.min(...sizes) <= 1]).toEqual([8, true]);
  expect(byCode.get('c7')?.[0]?.atMs).toBe(NOW_MS + 720);
});

test('hours and samples are kept for 7 days', async () => {
  const nowMs = Date.now();
  await note(counted([MALFORMED, nowMs - 8 * 24 * HOUR_MS], [BOT, nowMs - 6 * 24 * HOUR_MS]), nowMs);
  await note(counted([BOT, nowMs]), nowMs);
  const { hours, samples } = await read();
  expect(new Set(hours.map(({ code }) => code))).toEqual(new Set(['bot']));
  expect(samples.map(({ code }) => code)).toEqual(['bot', 'bot']);
  for (const what of ['counts', 'samples']) {
    const leftMs = await redis().pttl(`refusals.{${siteId}}.${what}`);
    expect(leftMs / HOUR_MS, what).toBeGreaterThan(7 * 24);
    expect(leftMs / HOUR_MS, what).toBeLessThanOrEqual(7 * 24 + 1);
  }
});

test('the first edge that says so tells from when on is counted', async () => {
  await redis().del('refusals.since');
  expect((await read()).sinceMs).toBeNull();
  await markRejectionsCounted(redis(), 5);
  await markRejectionsCounted(redis(), 6);
  expect((await read()).sinceMs).toBe(5);
  await redis().del('refusals.since');
});
