import { randomBytes } from 'node:crypto';
import type { InRecord, OutRecord } from '#infra/kafka/record.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { jobRecords } from '#infra/redelivery/replay_topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import { BREAKER_DEFAULTS, createBreakers, createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord, DeliveryOutcomes } from '#schemas/records.ts';
import type { Setting } from '#schemas/setting.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { createAttempts } from '#services/delivery/attempts.ts';
import { createJobReader } from '#services/delivery/job_reader.ts';
import { createDeliveryOutput } from '#services/delivery/output.ts';
import { createRetryPolls, watchReleases } from '#services/delivery/retry_topics.ts';
import { createTransform } from '#services/delivery/transform.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';
import { answered } from './harness.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
export const SECOND_MS = 1_000;
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
export async function webhookWorld(isDown: (siteId: string) => boolean, isAlone = true) {
  const time = { nowMs: NOW_MS };
  const nowMs = (): number => time.nowMs;
  const table = createSettingsTable();
  const ring = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  /** @param name the destination's id. */
  function put(siteId: string, url: string, name = 'webhook', created_at = 0): void {
    const place = { siteId, destination: name, field: 'secret' };
    const secrets = { secret: sealSecret(ring, place, secret, randomBytes) };
    const destination = { site_id: siteId, name, enabled: true, settings: { url }, secrets, created_at };
    table.apply(`site/${siteId}`, { ...BLANK, site: siteOf({ site_id: siteId }) });
    table.apply(`destination/${siteId}/${name}`, { ...BLANK, destination });
  }

  const breakers = createBreakers(BREAKER_DEFAULTS, 100, nowMs);
  const isInTrouble = (siteId: string): boolean => breakers.of('webhook', siteId).trouble() !== null;
  const scans = createRetryPolls(NOW_MS, () => isAlone);
  const releases = watchReleases({ table, kind: 'webhook', isInTrouble, scans, beganMs: NOW_MS });
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
  const idsOf = (siteId: string) => (table.destinationsOfKind('webhook').get(siteId) ?? []).map(({ name }) => name);
  const transform = createTransform({
    ...{ attempts, uncommitted, schemaId: 1, nowMs, metrics: createMetrics('delivery.webhook') },
    isCurrent: () => true,
    spansOf: () => null,
    watch: { ask: () => ({ kind: 'go' as const }), probed: () => undefined, awayUntilMs: () => null },
    jobs: await createJobReader(registry, 'webhook', idsOf, { releases, scans }, { kept: (events) => events }),
    output: await createDeliveryOutput(
      registry,
      webhook,
      { eventPartitions: 1, smallPartitions: 2 },
      ({ retryTopic, target, waitsSinceMs, isPaused }) =>
        scans.recordParked(retryTopic, target, time.nowMs, releases.isReleased(target, waitsSinceMs, isPaused)),
      () => 0.5,
    ),
  });
  const outcomesCodec = await createCodec<DeliveryOutcomes>(registry, 'delivery.outcomes', 'delivery');

  const jobsCodec = await createCodec<DeliveryJobRecord>(registry, 'delivery.webhook.replay', 'delivery_job');

  const partitions = new Map<string, Partition>();
  const written = { retryTopics: 0, outcomes: 0, ofSite: new Map<string, number>() };
  const jobs: DeliveryJobRecord[] = [];
  const told: DeliveryOutcomes[] = [];
  async function append({ topic, partition, value }: OutRecord): Promise<void> {
    if (topic.includes('.retry.')) {
      written.retryTopics += 1;
      const job = await jobsCodec.decode(value);
      if (job.ok) jobs.push(job.value);
      const siteId = job.ok ? job.value.site_id : '';
      written.ofSite.set(siteId, (written.ofSite.get(siteId) ?? 0) + 1);
    }
    if (topic === 'delivery.outcomes') {
      const read = await outcomesCodec.decode(value);
      if (read.ok) told.push(read.value);
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

  /** As somebody has asked for an event to be sent to a destination at a time. */
  async function replay(siteId: string, destination: string, askedAtMs: number): Promise<void> {
    const writer = createBatchWriter(1);
    writer.add(null, noPerson(), encodeEvent(entryOf({ site_id: siteId, received_at: askedAtMs - 1 }).event));
    const views = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
    const written = jobRecords({ destination, askedAtMs }, views, jobsCodec, 1, 2);
    for (const [topic, partition, records] of written)
      for (const { value } of records) await append({ topic, partition, value: value ?? Buffer.alloc(0) });
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
  return { time, put, replay, accept, acceptSingly, run, written, jobs, told, calls, delivered };
}
