import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import {
  BREAKER_DEFAULTS,
  createBreakers,
  createRejectionTracker,
  type OutagePermit,
} from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import type { Answer } from '#pipelines/delivery/contract.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { ga4 } from '#pipelines/delivery/destinations/ga4/adapter.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { Setting } from '#schemas/setting.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { type Attempted, createAttempts } from '#services/delivery/attempts.ts';
import { createTransform } from '#services/delivery/transform.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';
import { answered } from './harness.ts';
import { mainJob } from './jobs.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const SOURCE = { topic: 'events.identified', partition: 0 };
const AVAILABLE = { ask: () => ({ kind: 'go' as const }), probed: () => undefined, awayUntilMs: () => null };

/** A process that delivers to GA4, which counts whatever comes again a second time; a record holds one event. */
interface Given {
  awayUntilMs?: () => number | null;
  moved?: (offset: number) => boolean;
  isCurrent?: () => boolean;
  permit?: () => OutagePermit;
}

function world(given: Given = {}) {
  const table = createSettingsTable();
  const ring = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const place = { siteId: 'site_1', destination: 'ga4', field: 'api_secret' };
  const secrets = { api_secret: sealSecret(ring, place, 'secret', randomBytes) };
  const destination = {
    site_id: 'site_1',
    name: 'ga4',
    enabled: true,
    settings: { measurement_id: 'G-ABC123' },
    secrets,
  };
  table.apply('site/site_1', { ...BLANK, site: siteOf({ site_id: 'site_1' }) });
  table.apply('destination/site_1/ga4', { ...BLANK, destination });
  const sent: string[] = [];
  const written: Attempted[][] = [];
  const platform: { answer(call: number): Answer } = { answer: () => answered(204, '') };
  const stop = { after: Number.POSITIVE_INFINITY };
  const uncommitted = createUncommittedOutcomes(1_000);
  const nowMs = (): number => NOW_MS;
  const attempts = createAttempts({
    slow: createSlowSites(10, () => 0),
    isAlone: () => false,
    returned: () => undefined,
    ...{ adapter: ga4, baseUrl: null, table, ring, nowMs, uncommitted, logger: createLogger('test', 'silent') },
    breakers: createBreakers(BREAKER_DEFAULTS, 100, nowMs),
    turns: createSiteConcurrencyLimiter(1),
    monotonicMs: nowMs,
    rejections: createRejectionTracker(10, nowMs),
    onPartialSuccess: () => undefined,
    watch: { trouble: () => null, report: () => undefined },
    egress: {
      async send({ body }) {
        for (const { name } of (JSON.parse(body) as { events: { name: string }[] }).events) sent.push(name);
        return platform.answer(sent.length);
      },
      close: async () => undefined,
    },
  });
  const transform = createTransform({
    ...{ attempts, uncommitted, schemaId: 1, nowMs, metrics: createMetrics('delivery.ga4') },
    isCurrent: given.isCurrent ?? (() => true),
    spansOf: () => null,
    watch: {
      ...AVAILABLE,
      ask: given.permit ?? AVAILABLE.ask,
      awayUntilMs: given.awayUntilMs ?? AVAILABLE.awayUntilMs,
    },
    jobs: {
      async take({ records }) {
        const isMoved = (offset: number): boolean => given.moved?.(offset) === true;
        const jobs = records.flatMap(({ offset }) => (isMoved(offset) ? [] : [jobAt(offset)]));
        const events = jobs.flatMap((job) => job.events);
        const moved = records.filter(({ offset }) => isMoved(offset)).map(({ offset }) => ({ offset, record: RECORD }));
        return { jobs: [{ ...mainJob('site_1', [], { destination: 'ga4' }), events }], dead: [], erased: 0, moved };
      },
    },
    output: {
      write(attempted) {
        written.push([...attempted]);
        const tally = { in: 0, passed: 0, dropped: new Map(), diverted: new Map(), dead: new Map(), oldestMs: null };
        return { outputs: [], tally, committed: () => undefined };
      },
    },
  });
  /** The records from an offset on, each of one event that is named for it. */
  function batch(from: number, to: number): InBatch {
    const records = Array.from({ length: to - from }, (_, index) => ({
      ...{ offset: from + index, key: null, value: null, headers: {}, timestampMs: 0 },
    })) as unknown as InBatch['records'];
    return {
      ...SOURCE,
      records,
      lastOffset: to - 1,
      endOffset: to,
      lag: 0,
      owned: () => true,
      stopping: () => sent.length >= stop.after,
    };
  }
  return { transform, batch, sent, written, platform, stop };
}

const RECORD: OutRecord = { ...SOURCE, value: Buffer.alloc(0) };
const nameAt = (offset: number): string => `event_${offset}`;

/** Every visitor is another, so that each event is a call of its own. */
function jobAt(offset: number) {
  const writer = createBatchWriter(1);
  const name = nameAt(offset);
  writer.add(
    null,
    noPerson(),
    encodeEvent(entryOf({ site_id: 'site_1', event_id: name, event: name, distinct_id: `v${offset}` }).event),
  );
  return mainJob('site_1', readBatch(writer.finish().subarray(WIRE_HEADER_BYTES)), { destination: 'ga4' }, offset);
}

const outcomesOf = (attempted: readonly Attempted[] | undefined): string[] =>
  (attempted ?? []).map(({ offset, outcome }) => `${offset} ${outcome.outcome} ${outcome.reason}`.trim());

test('a batch whose transaction failed is written again, and sent once', async () => {
  const { transform, batch, sent, written, platform } = world();
  platform.answer = (call) => (call === 2 ? { kind: 'no_answer', reason: 'reset' } : answered(204, ''));
  await transform(batch(0, 3));
  const first = [...sent];
  await transform(batch(0, 2));
  const again = await transform(batch(0, 4));
  expect(sent).toEqual([...first, nameAt(3)]);
  expect(outcomesOf(written.at(-1))).toEqual(['0 delivered', '1 diverted reset', '2 delivered', '3 delivered']);
  again.committed();
  await transform(batch(0, 1));
  expect(sent.slice(4)).toEqual([nameAt(0)]);
});

test('a commit whose answer was lost leaves nothing behind', async () => {
  const { transform, batch, sent } = world();
  await transform(batch(0, 2));
  await transform(batch(2, 3));
  await transform(batch(0, 1));
  expect(sent).toEqual([0, 1, 2, 0].map(nameAt));
});

test('nothing is sent while it is not known who was erased, or what is set', async () => {
  let isCurrent = false;
  const { transform, batch, sent } = world({ isCurrent: () => isCurrent });
  expect(await transform(batch(0, 2))).toMatchObject({ outputs: [], leave: { offset: 0 } });
  expect(sent).toEqual([]);
  isCurrent = true;
  await transform(batch(0, 2));
  expect(sent).toHaveLength(2);
});

test('a record at whose events the platform fails probes three times, and the next one then', async () => {
  const awayUntilMs = NOW_MS + 1_000;
  const { transform, batch, sent, written, platform } = world({
    awayUntilMs: () => awayUntilMs,
    permit: () => ({ kind: 'probe' }),
  });
  platform.answer = () => answered(503, '');
  for (let probe = 1; probe < 3; probe += 1) {
    expect((await transform(batch(0, 3))).leave).toEqual({ offset: 0, notBeforeMs: awayUntilMs });
    expect(written).toEqual([]);
  }
  expect((await transform(batch(0, 3))).leave).toEqual({ offset: 1, notBeforeMs: NOW_MS });
  expect(outcomesOf(written.at(-1))).toEqual(['0 diverted http_503']);
  expect(sent).toEqual([0, 0, 0].map(nameAt));
  expect((await transform(batch(1, 3))).leave?.offset).toBe(1);
});

test('a record that its own site holds back makes way for the next one to probe', async () => {
  const away: { untilMs: number | null } = { untilMs: null };
  const { transform, batch, sent, written, platform } = world({
    awayUntilMs: () => away.untilMs,
    permit: () => ({ kind: away.untilMs === null ? 'go' : 'probe' }),
  });
  platform.answer = () => ({ ...answered(429, ''), headers: { 'retry-after': '3600' } });
  await transform(batch(0, 1));
  away.untilMs = NOW_MS + 1_000;
  const calls = sent.length;
  expect((await transform(batch(1, 3))).leave).toEqual({ offset: 2, notBeforeMs: NOW_MS });
  expect(sent).toHaveLength(calls);
  expect(written.at(-1)?.map(({ outcome }) => outcome.outcome)).toEqual(['paused']);
});

test('what was tried of a destination that is away is tried anew', async () => {
  let awayUntilMs: number | null = NOW_MS + 1_000;
  const { transform, batch, sent, written, platform } = world({ awayUntilMs: () => awayUntilMs });
  platform.answer = () => answered(503, '');
  expect(await transform(batch(0, 2))).toMatchObject({ outputs: [], leave: { offset: 0 } });
  awayUntilMs = null;
  platform.answer = () => answered(204, '');
  await transform(batch(0, 2));
  expect([sent.length, outcomesOf(written.at(-1))]).toEqual([4, ['0 delivered', '1 delivered']]);
});

test('a batch that is broken off commits what was done and leaves the rest', async () => {
  const { transform, batch, sent, written, stop } = world();
  stop.after = 2;
  const broken = await transform(batch(0, 6));
  expect(broken.leave).toEqual({ offset: 2, notBeforeMs: NOW_MS + 1_000 });
  expect(outcomesOf(written.at(-1))).toEqual(['0 delivered', '1 delivered']);
  stop.after = Number.POSITIVE_INFINITY;
  await transform(batch(2, 6));
  expect(sent).toEqual([0, 1, 2, 3, 4, 5].map(nameAt));
});

test('a batch that is broken off before its first call stays where it is', async () => {
  const { transform, batch, written, stop } = world();
  stop.after = 0;
  expect(await transform(batch(3, 6))).toMatchObject({ outputs: [], leave: { offset: 3 } });
  expect(outcomesOf(written.at(-1))).toEqual([]);
});

test('records of a lane that make way are moved only where the offset passes them', async () => {
  const { transform, batch, stop } = world({ moved: (offset) => offset % 2 === 0 });
  stop.after = 1;
  const broken = await transform(batch(0, 6));
  expect([broken.leave?.offset, broken.outputs.length]).toEqual([2, 1]);
});
