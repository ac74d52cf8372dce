import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { InRecord, OutRecord } from '#infra/kafka/record.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import { BREAKER_DEFAULTS, createBreakers, createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord, DeliveryOutcomes } from '#schemas/records.ts';
import type { Setting } from '#schemas/setting.ts';
import { createAttempts } from '#services/delivery/attempts.ts';
import { createJobReader } from '#services/delivery/job_reader.ts';
import { createDeliveryOutput } from '#services/delivery/output.ts';
import { createRetryPolls, watchReleases } from '#services/delivery/retry_topics.ts';
import { createTransform } from '#services/delivery/transform.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';
import { answered } from './harness.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const MAIN = 'events.identified';
const FETCH_MAX = 50;
const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };

interface Partition {
  topic: string;
  partition: number;
  records: InRecord[];
  offset: number;
  restUntilMs: number;
}

/** A process that delivers to webhooks, with its topics and its time in memory. */
async function world(isDown: (siteId: string) => boolean, isAlone = true) {
  const time = { nowMs: NOW_MS };
  const nowMs = (): number => time.nowMs;
  const table = createSettingsTable();
  const ring = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  function put(siteId: string, url: string): void {
    const place = { siteId, destination: 'webhook', field: 'secret' };
    const secrets = { secret: sealSecret(ring, place, secret, randomBytes) };
    const destination = { site_id: siteId, name: 'webhook', enabled: true, settings: { url }, secrets };
    table.apply(`site/${siteId}`, { ...BLANK, site: siteOf({ site_id: siteId }) });
    table.apply(`destination/${siteId}/webhook`, { ...BLANK, destination });
  }

  const breakers = createBreakers(BREAKER_DEFAULTS, 100, nowMs);
  const isInTrouble = (siteId: string): boolean => breakers.of('webhook', siteId).trouble() !== null;
  const scans = createRetryPolls(NOW_MS, () => isAlone);
  const releases = watchReleases({ table, destination: 'webhook', isInTrouble, scans, beganMs: NOW_MS });
  const uncommitted = createUncommittedOutcomes(10_000);
  const calls = new Map<string, number>();
  const delivered = new Map<string, number>();
  const attempts = createAttempts({
    slow: createSlowSites(10, nowMs),
    isAlone: () => false,
    ...{ adapter: webhook, baseUrl: null, table, ring, nowMs, uncommitted, logger: createLogger('test', 'silent') },
    ...{
      breakers,
      turns: createSiteConcurrencyLimiter(8),
      monotonicMs: nowMs,
      rejections: createRejectionTracker(10, nowMs),
    },
    returned: (siteId) => releases.returned(siteId, time.nowMs),
    onPartialSuccess: () => undefined,
    watch: { trouble: () => null, report: () => undefined },
    egress: {
      async send({ url, headers }) {
        const siteId = new URL(url).hostname.split('.')[0] as string;
        calls.set(siteId, (calls.get(siteId) ?? 0) + 1);
        if (isDown(siteId)) return answered(500, '');
        const id = `${siteId}/${headers['webhook-id']}`;
        delivered.set(id, (delivered.get(id) ?? 0) + 1);
        return answered(200, '');
      },
      close: async () => undefined,
    },
  });
  const transform = createTransform({
    ...{ attempts, uncommitted, schemaId: 1, nowMs, metrics: createMetrics('delivery.webhook') },
    settings: { isCurrent: () => true },
    spansOf: () => null,
    watch: { ask: () => ({ kind: 'go' as const }), probed: () => undefined, awayUntilMs: () => null },
    jobs: await createJobReader(registry, 'webhook', { releases, scans }, { kept: (events) => events }),
    output: await createDeliveryOutput(
      registry,
      webhook,
      { eventPartitions: 1, smallPartitions: 2 },
      ({ retryTopic, siteId, waitsSinceMs, isPaused }) =>
        scans.recordParked(retryTopic, siteId, time.nowMs, releases.isReleased(siteId, waitsSinceMs, isPaused)),
      () => 0.5,
    ),
  });
  const outcomesCodec = await createCodec<DeliveryOutcomes>(registry, 'delivery.outcomes', 'delivery');

  const jobsCodec = await createCodec<DeliveryJobRecord>(registry, 'delivery.webhook.replay', 'delivery_job');

  const partitions = new Map<string, Partition>();
  const written = { retryTopics: 0, outcomes: 0, ofSite: new Map<string, number>() };
  async function append({ topic, partition, value }: OutRecord): Promise<void> {
    if (topic.includes('.retry.')) {
      written.retryTopics += 1;
      const job = await jobsCodec.decode(value);
      const siteId = job.ok ? job.value.site_id : '';
      written.ofSite.set(siteId, (written.ofSite.get(siteId) ?? 0) + 1);
    }
    if (topic === 'delivery.outcomes') {
      const read = await outcomesCodec.decode(value);
      if (read.ok) written.outcomes += read.value.outcomes.length;
    }
    const name = `${topic}/${partition}`;
    const at = partitions.get(name) ?? { topic, partition: partition ?? 0, records: [], offset: 0, restUntilMs: 0 };
    partitions.set(name, at);
    const offset = at.records.length;
    at.records.push({ offset, key: null, value, headers: {}, timestampMs: time.nowMs } as unknown as InRecord);
  }

  async function accept(siteId: string, count: number, from = 0): Promise<void> {
    for (let index = from; index < from + count; index++) {
      const writer = createBatchWriter(1);
      const event_id = `${siteId}-${index}`;
      writer.add(null, noPerson(), encodeEvent(entryOf({ site_id: siteId, event_id, received_at: time.nowMs }).event));
      await append({ topic: MAIN, partition: 0, value: writer.finish() });
    }
  }

  /** Takes one batch of a partition; whether there was one to take. */
  async function step(at: Partition): Promise<boolean> {
    const { topic, partition } = at;
    const isRead = topic === MAIN || topic.startsWith('delivery.webhook.');
    if (!isRead || at.offset >= at.records.length || time.nowMs < at.restUntilMs) return false;
    const records = at.records.slice(at.offset, at.offset + FETCH_MAX);
    const endOffset = at.offset + records.length;
    const lag = at.records.length - endOffset;
    const batch = { topic, partition, records, lastOffset: endOffset - 1, endOffset, lag };
    const made = await transform({ ...batch, owned: () => true, stopping: () => false });
    for (const record of made.outputs) await append(record);
    at.offset = made.leave?.offset ?? endOffset;
    at.restUntilMs = made.leave?.notBeforeMs ?? 0;
    made.committed();
    return true;
  }

  /** Lets time go by until then, in steps of half a second where anything rests. */
  async function run(untilMs: number): Promise<void> {
    while (time.nowMs < untilMs) {
      let isBusy = false;
      for (const at of [...partitions.values()]) isBusy = (await step(at)) || isBusy;
      if (releases.look(time.nowMs)) for (const at of partitions.values()) at.restUntilMs = 0;
      else if (!isBusy) {
        const rests = [...partitions.values()].map(({ restUntilMs }) => restUntilMs).filter((ms) => ms > time.nowMs);
        time.nowMs = Math.min(Math.max(Math.min(...rests, untilMs), time.nowMs + SECOND_MS / 2), untilMs);
      }
    }
  }

  /** One after the other, so that each has a record of its own on the lanes. */
  async function acceptSingly(siteId: string, count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      await accept(siteId, 1, index);
      await run(time.nowMs + SECOND_MS / 2);
    }
  }
  return { time, put, accept, acceptSingly, run, written, calls, delivered };
}

test('events of a site whose webhook is down for hours are hardly written, and are all there minutes after its return', async () => {
  const down = new Set(['dead', 'away']);
  const { time, put, accept, run, written, calls, delivered } = await world((siteId) => down.has(siteId));
  for (const siteId of ['dead', 'away', 'well']) put(siteId, `https://${siteId}.example/`);
  const began = time.nowMs;
  // Others' events stand before those of the site that returns.
  await accept('dead', 400);
  await accept('away', 200);
  await run(began + HOUR_MS);
  const hour = { ...written };
  expect(hour.retryTopics).toBeLessThan(600 * 8);
  // One outcome each for what waits, and those of the probes.
  expect(hour.outcomes).toBeLessThan(600 + 200);
  await run(began + 20 * HOUR_MS);
  expect(written.retryTopics - hour.retryTopics).toBeLessThan(600 * 10 + 2 * 20 * 60 * 2);
  expect([...calls.values()].every((count) => count < 20 * 60)).toBe(true);

  down.delete('away');
  await accept('well', 1);
  await run(time.nowMs + 12 * 60 * SECOND_MS);
  expect([...delivered.values()].every((times) => times === 1)).toBe(true);
  const countOf = (siteId: string): number => [...delivered.keys()].filter((id) => id.startsWith(`${siteId}/`)).length;
  expect({ away: countOf('away'), well: countOf('well'), dead: countOf('dead') }).toEqual({
    away: 200,
    well: 1,
    dead: 0,
  });

  put('dead', 'https://repaired.example/');
  await run(time.nowMs + 6 * 60 * SECOND_MS);
  expect(countOf('repaired')).toBe(400);
});

const MINUTE_MS = 60_000;
const WAITING = 200;

type World = Awaited<ReturnType<typeof world>>;
interface Scene {
  what: string;
  /** How often a waiting event may be written to lanes meanwhile. */
  writesMax: number;
  forMs: number;
  everyMs: number;
  isAlone?: boolean;
  each(world: World, down: Set<string>, round: number): Promise<void> | void;
}

const edit: Scene['each'] = ({ put }, _, round) => put('well', `https://well.example/${round}`);
/** What happens beside `dead`, whose lanes are the lanes of these sites too. */
const SCENES: Scene[] = [
  { what: 'nothing happens', writesMax: 14, forMs: 12 * HOUR_MS, everyMs: HOUR_MS, each: () => undefined },
  {
    ...{ what: 'a healthy site edits its webhook each five minutes', writesMax: 16 },
    ...{ forMs: 12 * HOUR_MS, everyMs: 5 * MINUTE_MS, each: edit },
  },
  {
    ...{ what: 'a healthy site edits its webhook each five seconds', writesMax: 9 },
    ...{ forMs: HOUR_MS, everyMs: 5 * SECOND_MS, each: edit },
  },
  {
    ...{ what: 'sites edit their webhooks, and other processes write to the lanes', writesMax: 50 },
    ...{ forMs: 12 * HOUR_MS, everyMs: MINUTE_MS, isAlone: false, each: edit },
  },
  {
    // What waits of the neighbour lies on the lane of ten minutes at times: in the first hour `dead` does as well.
    ...{ what: 'a neighbour fails one minute of ten', writesMax: 22 },
    ...{ forMs: 12 * HOUR_MS, everyMs: 10 * MINUTE_MS },
    async each({ time, accept, run }, down, round) {
      down.add('near');
      await accept('near', 10, round * 10);
      await run(time.nowMs + MINUTE_MS);
      down.delete('near');
    },
  },
];

test.each(SCENES)(
  'while $what, events of another site that wait are hardly written, and come at once when it is repaired',
  async (scene) => {
    const down = new Set(['dead']);
    const all = await world((siteId) => down.has(siteId), scene.isAlone);
    const { time, put, acceptSingly, run, written, delivered } = all;
    for (const siteId of ['dead', 'well', 'near']) put(siteId, `https://${siteId}.example/`);
    await acceptSingly('dead', WAITING);
    const untilMs = time.nowMs + scene.forMs;
    for (let round = 0; time.nowMs < untilMs; round++) {
      const nextMs = time.nowMs + scene.everyMs;
      await scene.each(all, down, round);
      await run(nextMs);
    }
    expect((written.ofSite.get('dead') ?? 0) / WAITING).toBeLessThan(scene.writesMax);
    put('dead', 'https://repaired.example/');
    await run(time.nowMs + MINUTE_MS);
    expect([...delivered.keys()].filter((id) => id.startsWith('repaired/'))).toHaveLength(WAITING);
    expect([...delivered.values()].every((times) => times === 1)).toBe(true);
  },
);

test('what a site waits with behind another on its lanes comes minutes after its return or repair, of several processes too', async () => {
  for (const isAlone of [true, false]) {
    for (const isRepaired of [false, true]) {
      const down = new Set(['dead', 'near']);
      const { time, put, acceptSingly, run, delivered } = await world((siteId) => down.has(siteId), isAlone);
      for (const siteId of down) put(siteId, `https://${siteId}.example/`);
      await acceptSingly('dead', WAITING);
      await acceptSingly('near', WAITING / 2);
      await run(time.nowMs + 9 * HOUR_MS);
      if (isRepaired) put('near', 'https://repaired.example/');
      else down.delete('near');
      // A breaker that is open for five minutes at the most, and a lane that is passed over in five more.
      await run(time.nowMs + (isRepaired ? 5.5 : 11) * MINUTE_MS);
      expect({ isAlone, isRepaired, delivered: delivered.size }).toEqual({
        isAlone,
        isRepaired,
        delivered: WAITING / 2,
      });
    }
  }
});
