// The edge: HTTP -> events.raw.

import { hkdfSync, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { type EdgeConfig, edgeConfig } from '#infra/config/edge_config.ts';
import { createScriptFetcher } from '#infra/egress/fetch_script.ts';
import { listen } from '#infra/http/http_server.ts';
import { createRequestErrors, type RequestErrors } from '#infra/http/request_errors.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { createSender, type PartitionSender } from '#infra/kafka/sender.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Redis } from '#infra/redis/client.ts';
import { createDaySalts } from '#infra/redis/day_salts.ts';
import {
  createRejectionReporter,
  createTagReporter,
  markRefusalsCounted,
  recordKeyUses,
} from '#infra/redis/edge_reports.ts';
import { createEngageGuard, createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { createInventoryMemory } from '#infra/redis/inventory.ts';
import { createAdmissionStore } from '#infra/redis/quota/admission.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { createMemoryLimits } from '#pipelines/limits/rate_limits.ts';
import { createConfigAnswers } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { InventoryRecord } from '#schemas/records.ts';
import { openRedis, openSettings, type Runtime, runProcess } from '#services/stage/runtime.ts';
import { createAdmitter, createReservationLeases, type RateLimiter } from './admission.ts';
import { createApp } from './app.ts';
import { blockListOf, createAddressNamer, createStrangers } from './auth.ts';
import { createConcurrencyLimiter } from './concurrency_limiter.ts';
import type { EngageParts } from './engage/submission.ts';
import { createAudienceNotes, createEngageMemories, createSpamWatch } from './engage/visitor_memory.ts';
import { type AcceptOptions, createIngestService, type IngestService } from './ingest_service.ts';
import { createInventory, type InventoryIntake } from './inventory.ts';
import { createScriptCache, type ScriptCache } from './loaders/routes.ts';
import {
  createKeyUse,
  createRefusals,
  createTagHealth,
  type KeyUse,
  type Refusals,
  type TagHealth,
} from './site_activity.ts';
import { buildScripts, TAG_SOURCES } from './tag_files/scripts.ts';

/** An edge whose clock differs more from that of Redis is not ready. */
const CLOCK_MS_MAX = 5 * 60_000;

/** A limit of the API: docs/sending.md. */
const RATE_WINDOW_MS = 10_000;

/** More than any vendor's script has, and little enough for many to be decoded at a time. */
const SCRIPT_BYTES_MAX = 2 * 1024 * 1024;
/** Longest that Redis is waited for before the limits are counted in this process alone. */
const ADMISSION_MS_MAX = 1_000;

/** Bytes of one produce request. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/** Retries inside the client; beyond them the answer is 503 and the events are the client's still. */
const SEND_RETRIES = 8;

/** HTTP -> events.raw: answers only when Kafka has acknowledged. */
runProcess('edge', edgeConfig, async (runtime, config) => {
  // Goes on while the parts are opened, which takes longer.
  const scripts = buildScripts(TAG_SOURCES, runtime.logger);
  const { table } = await openSettings(runtime);
  const { redis, probe } = openRedis(runtime, config.parts);
  runtime.parts.uses('redis', probe.isAlive);
  // By its clock events have arrived, and days and months begin.
  runtime.parts.needs('clock', () => Math.abs(probe.aheadMs() ?? 0) <= CLOCK_MS_MAX);
  const keyUse = openKeyUse(runtime, redis);
  const tagHealth = openTagHealth(runtime, redis, table);
  const refusals = openRefusals(runtime, redis, config.identitySecret);
  const senders = openSenders(runtime, config);
  const sender = await senders.open(TOPICS.raw);
  const addressOf = createAddressNamer(config.identitySecret, blockListOf(config.ipExempt));
  const rateLimiter = await openAdmitter(runtime, config, redis, addressOf);
  const engage = openEngage(runtime, redis, config.identitySecret, addressOf);
  const noteAudience = createAudienceNotes(table, engage.memory);
  const app = createApp({
    table,
    identitySecret: config.identitySecret,
    trustedProxies: config.trustedProxies,
    limiter: createConcurrencyLimiter({ requestsMax: config.openRequestsMax, bytesMax: config.openBytesMax }),
    isExempt: (clientIp) => addressOf(clientIp) === null,
    ingestService: await openIngestService(runtime, config, {
      redis,
      rateLimiter,
      sender,
      refusals,
      onAccepted(siteId, events) {
        noteAudience(siteId, events);
        tagHealth.saw(siteId, events);
      },
    }),
    inventory: await openInventory(runtime, redis, await senders.open(TOPICS.inventory)),
    configOf: createConfigAnswers(table),
    tag: { sources: TAG_SOURCES, scripts: await scripts },
    engage,
    vendorScripts: openVendorScripts(runtime, config),
    refusals,
    onKeyUsed: keyUse.saw,
    sharesLimits: () => rateLimiter.isShared(),
    healthy: () => runtime.clusterAlive() && sender.oldestMs() < config.acknowledgeMs,
    nowMs: Date.now,
    strangers: createStrangers({
      requestsMax: config.requestsWithoutKey,
      windowMs: RATE_WINDOW_MS,
      addressOf,
      nowMs: monotonicMs,
    }),
    errors: openRequestErrors(runtime, config),
  });
  const port = await listen(app, config.host, config.port);
  runtime.onStop(() => app.close());
  runtime.ready({ url: `http://${config.host}:${port}` });
});

function openKeyUse({ onStop }: Runtime, redis: Redis): KeyUse {
  const keyUse = createKeyUse({ note: (uses) => recordKeyUses(redis, uses), nowMs: Date.now });
  onStop(() => keyUse.stop());
  return keyUse;
}

function openTagHealth({ onStop }: Runtime, redis: Redis, table: SettingsTable): TagHealth {
  const tagHealth = createTagHealth({ table, note: createTagReporter(redis), nowMs: Date.now });
  onStop(() => tagHealth.stop());
  return tagHealth;
}

function openRefusals({ onStop }: Runtime, redis: Redis, secret: Buffer): Refusals {
  const note = createRejectionReporter(redis);
  const markCounted = (): Promise<void> => markRefusalsCounted(redis, Date.now());
  const refusals = createRefusals({ note, markCounted, secret, nowMs: Date.now });
  onStop(() => refusals.stop());
  return refusals;
}

async function openInventory(
  { registry, session, logger }: Runtime,
  redis: Redis,
  sender: PartitionSender,
): Promise<InventoryIntake> {
  return createInventory({
    sender,
    codec: await createCodec<InventoryRecord>(registry, TOPICS.inventory, 'inventory'),
    memory: createInventoryMemory(redis, logger, Date.now),
    partitions: session.config.eventPartitions,
    randomId: uuidv7,
    nowMs: Date.now,
  });
}

function openVendorScripts({ metrics, logger, onStop }: Runtime, { loaders }: EdgeConfig): ScriptCache {
  const fetcher = createScriptFetcher({ ...loaders, bytesMax: SCRIPT_BYTES_MAX });
  onStop(() => fetcher.close());
  return createScriptCache({
    fetch: fetcher.fetch,
    metrics,
    nowMs: monotonicMs,
    onFailed: (error) => logger.error({ err: error }, "a platform's script could not be made newer"),
  });
}

function openRequestErrors({ metrics, logger, fatal }: Runtime, config: EdgeConfig): RequestErrors {
  return createRequestErrors({ metrics, logger, nowMs: monotonicMs, inARowMax: config.requestErrorsMax, fatal });
}

/** The rate limits and the month's allowance, which the edges share in Redis. */
async function openAdmitter(
  { session, metrics, logger, onStop }: Runtime,
  config: EdgeConfig,
  redis: Redis,
  addressOf: (clientIp: string) => string | null,
): Promise<RateLimiter> {
  const partitions = session.config.eventPartitions;
  const limits = { windowMs: RATE_WINDOW_MS, perIp: config.requestsPerIp, perKey: config.requestsPerKey };
  const store = createAdmissionStore(redis, {
    limits,
    cluster: config.parts.redisCluster,
    checkpointsWanted: partitions,
    deadlineMs: ADMISSION_MS_MAX,
  });
  const rateLimiter = await createAdmitter({
    store,
    memory: createMemoryLimits(limits),
    leases: createReservationLeases({
      renew: async (leases, leaseMs) => (await store.renew(leases, leaseMs)) >= partitions,
      leaseMs: config.leaseMs,
      nowMs: monotonicMs,
    }),
    addressOf,
    nowMs: monotonicMs,
    metrics,
    logger,
  });
  onStop(async () => rateLimiter.stop());
  return rateLimiter;
}

/** The way in for events, by which every protocol goes. */
async function openIngestService(
  { registry, session, metrics, logger, onStop }: Runtime,
  { identitySecret }: EdgeConfig,
  parts: {
    redis: Redis;
    rateLimiter: RateLimiter;
    sender: PartitionSender;
    refusals: AcceptOptions['refusals'];
    onAccepted: AcceptOptions['onAccepted'];
  },
): Promise<IngestService> {
  const schemaId = await registry.idOf(TOPICS.raw, 'event_batch');
  const salts = await createDaySalts(parts.redis, logger, Date.now);
  onStop(async () => salts.stop());
  return createIngestService({
    sender: parts.sender,
    rateLimiter: parts.rateLimiter,
    schemaId,
    partitions: session.config.eventPartitions,
    anonymousSalt: (nowMs) => salts.at(nowMs),
    identitySecret,
    randomEventId: uuidv7,
    nowMs: Date.now,
    metrics,
    refusals: parts.refusals,
    onAccepted: parts.onAccepted,
  });
}

/** The edge's way into Kafka. */
interface Senders {
  /** A sender to a topic, which ends with the process. */
  open(topic: string): Promise<PartitionSender>;
}

function openSenders({ session, logger, fatal, onStop, clusterAlive }: Runtime, config: EdgeConfig): Senders {
  const kafka = createKafka(session.config, 'svc.edge.sender', logger, SEND_RETRIES);
  return {
    async open(topic) {
      const sender = await createSender({
        kafka,
        topic,
        requestBytesMax: REQUEST_BYTES_MAX,
        queuedBytesMax: config.queuedBytesMax,
        deadlineMs: config.acknowledgeMs,
        nowMs: monotonicMs,
        watchdogMs: session.config.watchdogMs,
        isClusterAlive: clusterAlive,
        onFatal: fatal,
      });
      onStop(() => sender.stop());
      return sender;
    },
  };
}

/** What the routes of surveys, promos and forms need of the process. */
function openEngage(
  { metrics }: Runtime,
  redis: Redis,
  identitySecret: Buffer,
  addressOf: EngageParts['addressOf'],
): EngageParts {
  const memory = createEngageMemories(createVisitorStateStore(redis), metrics, Date.now);
  const spam = createSpamWatch(createEngageGuard(redis), metrics);
  return { memory, spam, addressOf, secret: engageSecret(identitySecret), identitySecret, randomBytes };
}

/** A key of its own (RFC 5869), so that no token says anything of the secret that identities are hashed with. */
function engageSecret(identitySecret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', identitySecret, '', 'svc.engage.token.v1', 32));
}
