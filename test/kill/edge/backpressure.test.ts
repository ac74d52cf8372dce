import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { type EdgeProcess, startEdgeProcess } from './edge_process.ts';

const MIB = 1024 * 1024;
const QUEUED_BYTES_MAX = 8 * MIB;
const SLOTS = 32;
/** Of a request's 50 events. */
const BODY_BYTES_MIN = 20_000;
const PAUSE_MS = 30;
/** From then on every partition's oldest record is older than half of the time an answer may wait for Kafka. */
const OLD_MS = 3_500;
const STALL_MS = 35_000;
/** By then the heap has grown to what refusing at this rate needs. */
const SETTLED_MS = 8_000;
/** Memory is looked at for so long, and its least value counts: what has been thrown away is collected now and then only. */
const LOOK_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** A small part of what is refused in the meantime. */
const GROWTH_BYTES_MAX = 48 * MIB;

let edge: EdgeProcess;
const dataDir = mkdtempSync(join(tmpdir(), 'backpressure-'));
beforeAll(async () => {
  edge = await startEdgeProcess(dataDir, {
    EDGE_QUEUED_BYTES: String(QUEUED_BYTES_MAX),
    // What is thrown away young is then collected at once, so that what grows is what is kept.
    NODE_OPTIONS: '--max-semi-space-size=8',
  });
});
afterAll(async () => {
  await edge.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

interface Seen {
  /** Since the beginning of the load. */
  sentMs: number;
  tookMs: number;
  status: number;
  retryAfter: string | null;
}

/** Keeps requests of 50 events open for a time, those of many visitors so that every partition has some. */
async function load(durationMs: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  const startedMs = performance.now();
  const slot = async (index: number): Promise<void> => {
    for (let round = 0; performance.now() - startedMs < durationMs; round++) {
      const distinct_id = `visitor-${index}-${round}`;
      const properties = { text: 'x'.repeat(400) };
      const events = Array.from({ length: 50 }, () => newEvent({ distinct_id, properties }));
      const sentMs = performance.now();
      const { status, headers } = await postEvents(edge.url, edge.serverKey, events);
      const tookMs = performance.now() - sentMs;
      seen.push({ sentMs: sentMs - startedMs, tookMs, status, retryAfter: headers.get('retry-after') });
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, (_, index) => slot(index)));
  return seen;
}

async function leastRss(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (const endMs = performance.now() + LOOK_MS; performance.now() < endMs; await sleep(LOOK_EVERY_MS)) {
    least = Math.min(least, edge.rssBytes());
  }
  return least;
}

test('a broker that does not answer: 503 within a second, memory flat, and on as before', async () => {
  const before = await load(4_000);
  expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200]));

  edge.parts.kafka?.kill('SIGSTOP');
  const loading = load(STALL_MS);
  await sleep(SETTLED_MS);
  const rssBefore = await leastRss();
  await sleep(STALL_MS - SETTLED_MS - 2 * LOOK_MS);
  const rssAfter = await leastRss();
  const stalled = await loading;
  const late = stalled.filter(({ sentMs }) => sentMs > OLD_MS);
  edge.parts.kafka?.kill('SIGCONT');

  expect(new Set(late.map(({ status }) => status))).toEqual(new Set([503]));
  expect(late.filter(({ retryAfter }) => !/^\d+$/.test(retryAfter ?? ''))).toEqual([]);
  expect(Math.max(...late.map(({ tookMs }) => tookMs))).toBeLessThan(1_000);
  expect(Math.max(...stalled.map(({ tookMs }) => tookMs))).toBeLessThan(6_500);
  expect(late.length * BODY_BYTES_MIN).toBeGreaterThan(2 * GROWTH_BYTES_MAX);
  expect(rssAfter - rssBefore).toBeLessThan(GROWTH_BYTES_MAX);

  await until(
    'events are taken again',
    async () => (await postEvents(edge.url, edge.serverKey, [newEvent()])).status,
    (status) => status === 200,
    { timeoutMs: 20_000, everyMs: 200 },
  );
  await until(
    'healthy again',
    async () => (await fetch(`${edge.url}/v1/health`)).status,
    (status) => status === 200,
    { timeoutMs: 20_000 },
  );
  const after = await load(3_000);
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]));
}, 120_000);
