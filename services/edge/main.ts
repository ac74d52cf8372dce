// The edge: HTTP -> events.raw.

import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { type EdgeConfig, edgeConfig } from '#infra/config/edge_config.ts';
import { createScriptFetcher } from '#infra/egress/send.ts';
import { listen } from '#infra/http/http_server.ts';
import { createRequestErrors } from '#infra/http/request_errors.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { createSender, type PartitionSender } from '#infra/kafka/sender.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createDaySalts } from '#infra/redis/day_salts.ts';
import {
  createRejectionReporter,
  createTagReporter,
  markRejectionsCounted,
  recordKeyUses,
} from '#infra/redis/edge_reports.ts';
import { createEngageGuard, createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { createInventoryMemory } from '#infra/redis/inventory.ts';
import { createAdmissionStore } from '#infra/redis/quota/admission.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { createMemoryLimits } from '#pipelines/quota/limits.ts';
import { createConfigAnswers } from '#pipelines/settings/site_config.ts';
import type { InventoryRecord } from '#schemas/records.ts';
import { openRedis, openSecondaryRedis, openSettings, type Runtime, runProcess } from '#services/stage/runtime.ts';
import { createRateAndQuotaLimiter, createReservationLeases, type RateLimiter } from './admission.ts';
import { createApp } from './app.ts';
import { blockListOf, createAddressNamer, createAnonymousLimiter } from './auth.ts';
import { createConcurrencyLimiter } from './concurrency_limiter.ts';
import type { EngageParts } from './engage/submission.ts';
import { createAudienceNotes, createEngageMemories, createSpamWatch } from './engage/visitor_memory.ts';
import { type AcceptOptions, createIngestService, type IngestService } from './ingest_service.ts';
import { createInventory, type InventoryIntake } from './inventory.ts';
import { createScriptCache, type ScriptCache } from './loaders/routes.ts';
import { createRequestSpans } from './request_spans.ts';
import { createKeyUse, createRejectionRecorder, createTagHealth } from './site_activity.ts';
import { buildScripts, tagSources } from './tag_files/routes.ts';

/** An edge whose clock differs more from that of Redis is not ready. */
const CLOCK_MS_MAX = 5 * 60_000;

/** A limit of the API: docs/sending.md. */
const RATE_WINDOW_MS = 10_000;

/** More than any vendor's script has, and little enough for many to be decoded at a time. */
const SCRIPT_BYTES_MAX = 2 * 1024 * 1024;
/** Longest that Redis is waited for before the limits are counted in this process alone. */
const ADMISSION_MS_MAX = 1_000;

const REQUEST_BYTES_MAX = 1024 * 1024;
/** Retries inside the client; beyond them the answer is 503 and the events are the client's still. */
const SEND_RETRIES = 8;

/** HTTP -> events.raw: answers only when Kafka has acknowledged. */
runProcess('edge', edgeConfig, async (runtime, config) => {
  const { metrics, logger, fatal, tracer } = runtime;
  // Goes on while the parts are opened, which takes longer.
  const sources = tagSources(config.publicUrl && new URL(config.publicUrl).origin);
  const scripts = buildScripts(sources, logger);
  const { table } = await openSettings(runtime);
  const { redis, probe } = openRedis(runtime, config.parts);
  runtime.parts.uses('redis', probe.isAlive);
  const secondary = openSecondaryRedis(runtime, config.parts, redis);
  // By its clock events have arrived, and days and months begin.
  runtime.parts.needs('clock', () => Math.abs(probe.aheadMs() ?? 0) <= CLOCK_MS_MAX);
  const edgeId = randomUUID();
  const keyUse = stopping(runtime, createKeyUse({ note: (uses) => recordKeyUses(redis, uses), nowMs: Date.now }));
  const tagHealth = stopping(
    runtime,
    createTagHealth({ table, note: createTagReporter(secondary, edgeId), nowMs: Date.now }),
  );
  const rejections = stopping(
    runtime,
    createRejectionRecorder({
      note: createRejectionReporter(secondary, edgeId),
      markCounted: () => markRejectionsCounted(secondary, Date.now()),
      secret: config.identitySecret,
      ...{ metrics, nowMs: Date.now },
    }),
  );
  const openSender = createSenderOpener(runtime, config);
  const sender = await openSender(TOPICS.raw);
  const addressOf = createAddressNamer(config.identitySecret, blockListOf(config.ipExempt));
  const rateLimiter = await openAdmitter(runtime, config, addressOf);
  const engage: EngageParts = {
    memory: createEngageMemories(createVisitorStateStore(secondary, redis), metrics, Date.now),
    spam: createSpamWatch(createEngageGuard(secondary), metrics),
    addressOf,
    // A key of its own (RFC 5869), so that no token says anything of the secret that identities are hashed with.
    secret: Buffer.from(hkdfSync('sha256', config.identitySecret, '', 'svc.engage.token.v1', 32)),
    identitySecret: config.identitySecret,
    randomBytes,
  };
  const readAudience = createAudienceNotes(table, engage.memory);
  const app = createApp({
    table,
    identitySecret: config.identitySecret,
    trustedProxies: config.trustedProxies,
    limiter: createConcurrencyLimiter({ requestsMax: config.openRequestsMax, bytesMax: config.openBytesMax }),
    isExempt: (clientIp) => addressOf(clientIp) === null,
    ingestService: await openIngestService(runtime, config, redis, {
      rateLimiter,
      sender,
      rejections,
      readAccepted(siteId, events) {
        // Of a whole request: whether its tag works today the past of a site does not tell.
        if (events[0]?.historical === true) return () => undefined;
        const [noteVisitors, noteTag] = [readAudience(siteId, events), tagHealth.read(siteId, events)];
        return () => {
          noteVisitors();
          noteTag();
        };
      },
    }),
    inventory: await openInventory(runtime, secondary, await openSender(TOPICS.inventory)),
    configOf: createConfigAnswers(table),
    tag: { sources, scripts: await scripts },
    engage,
    vendorScripts: openVendorScripts(runtime, config),
    rejections,
    spans: tracer && createRequestSpans(tracer, { nowMs: Date.now, monotonicMs, random: Math.random }),
    onKeyUsed: keyUse.record,
    sharesLimits: () => rateLimiter.isShared(),
    healthy: () => runtime.clusterAlive() && sender.oldestMs() < config.acknowledgeMs,
    nowMs: Date.now,
    anonymousLimiter: createAnonymousLimiter({
      requestsMax: config.requestsWithoutKey,
      windowMs: RATE_WINDOW_MS,
      addressOf,
      nowMs: monotonicMs,
    }),
    errors: createRequestErrors({ metrics, logger, nowMs: monotonicMs, inARowMax: config.requestErrorsMax, fatal }),
  });
  const port = await listen(app, config.host, config.port);
  runtime.onStop(() => app.close());
  runtime.ready({ url: `http://${config.host}:${port}` });
});

/** What stops with the process. */
function stopping<Part extends { stop(): unknown }>({ onStop }: Runtime, part: Part): Part {
  onStop(async () => void (await part.stop()));
  return part;
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
    onFailed: (error) => logger.error({ err: error }, "refreshing a platform's script failed"),
  });
}

/** The rate limits and the month's allowance, which the edges share in Redis. */
async function openAdmitter(
  runtime: Runtime,
  config: EdgeConfig,
  addressOf: (clientIp: string) => string | null,
): Promise<RateLimiter> {
  const { session, metrics, logger } = runtime;
  const partitions = session.config.eventPartitions;
  const limits = { windowMs: RATE_WINDOW_MS, perIp: config.requestsPerIp, perKey: config.requestsPerKey };
  const { redisUrl, redisCluster } = config.parts;
  // To reserve twice, or to give back twice, is wrong: where an answer is lost the lease is doubted.
  const redis = createRedis(redisUrl, logger, redisCluster, false);
  runtime.onStop(async () => redis.disconnect());
  const store = createAdmissionStore(redis, {
    limits,
    cluster: redis.isCluster,
    checkpointsWanted: partitions,
    deadlineMs: ADMISSION_MS_MAX,
  });
  const rateLimiter = createRateAndQuotaLimiter({
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
  return stopping(runtime, await rateLimiter);
}

async function openIngestService(
  runtime: Runtime,
  { identitySecret }: EdgeConfig,
  redis: Redis,
  parts: Pick<AcceptOptions, 'rateLimiter' | 'sender' | 'rejections' | 'readAccepted'>,
): Promise<IngestService> {
  const { registry, session, metrics, logger } = runtime;
  const schemaId = await registry.idOf(TOPICS.raw, 'event_batch');
  const salts = stopping(runtime, await createDaySalts(redis, logger, Date.now));
  return createIngestService({
    ...parts,
    schemaId,
    partitions: session.config.eventPartitions,
    anonymousSalt: (nowMs) => salts.at(nowMs),
    identitySecret,
    randomEventId: uuidv7,
    nowMs: Date.now,
    metrics,
  });
}

/** Opens the edge's senders to topics, which end with the process. */
function createSenderOpener(runtime: Runtime, config: EdgeConfig): (topic: string) => Promise<PartitionSender> {
  const { session, logger, fatal, clusterAlive } = runtime;
  const kafka = createKafka(session.config, 'svc.edge.sender', logger, SEND_RETRIES);
  return async (topic) => {
    const sender = createSender({
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
    return stopping(runtime, await sender);
  };
}
