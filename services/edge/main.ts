import { v7 as uuidv7 } from 'uuid';
import { edgeConfig } from '#infra/config/edge_config.ts';
import { listen } from '#infra/http/http_server.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { openAdmin, watchCluster } from '#infra/kafka/health_probe.ts';
import { createSender, type PartitionSender } from '#infra/kafka/producer/sender.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createAdmissionStore } from '#infra/redis/admission.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createInventoryMemory } from '#infra/redis/inventory.ts';
import { noteKeyUses } from '#infra/redis/key_use.ts';
import { createDaySalts } from '#infra/redis/salts.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { followSettings } from '#infra/settings/follow_settings.ts';
import { createMemoryLimits } from '#pipelines/limits/sliding_window.ts';
import { createConfigAnswers } from '#pipelines/settings/site_config.ts';
import type { InventoryRecord } from '#schemas/inventory.ts';
import { createRequestErrors } from '#services/request_errors.ts';
import { runProcess } from '#services/runtime.ts';
import { createAcceptor } from './accept.ts';
import { createAdmitter } from './admission.ts';
import { createApp } from './app.ts';
import { createConcurrencyLimiter } from './concurrency_limiter.ts';
import { createInventory } from './inventory.ts';
import { createKeyUse } from './key_use.ts';
import { blockListOf, createAddressNamer } from './requester_address.ts';
import { createReservationLeases } from './reservation_leases.ts';
import { createStrangers } from './strangers.ts';

/** Bytes of one produce request. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/** Retries inside the client; beyond them the answer is 503 and the events are the client's still. */
const SEND_RETRIES = 8;

/** SPEC section 8. */
const RATE_WINDOW_MS = 10_000;
/** Longest that Redis is waited for before the limits are counted in this process alone. */
const ADMISSION_MS_MAX = 1_000;

/** HTTP -> events.raw: answers only when Kafka has acknowledged. */
runProcess('edge', edgeConfig, async (runtime, config) => {
  const { session, registry, metrics, logger } = runtime;
  const schemaId = await registry.idOf(TOPICS.raw, 'event_batch');
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const redis = createRedis(runtime.config.parts.redisUrl, logger);
  runtime.onStop(async () => redis.disconnect());
  const salts = await createDaySalts(redis, logger, Date.now);
  runtime.onStop(async () => salts.stop());
  const keyUse = createKeyUse({ note: (uses) => noteKeyUses(redis, uses), nowMs: Date.now });
  runtime.onStop(() => keyUse.stop());
  const kafka = createKafka(session.config, 'svc.edge.sender', logger, SEND_RETRIES);
  const kafkaProbe = watchCluster(() => openAdmin(session.kafka));
  runtime.onStop(() => kafkaProbe.stop());
  const senderOf = async (topic: string): Promise<PartitionSender> => {
    const sender = await createSender({
      kafka,
      topic,
      requestBytesMax: REQUEST_BYTES_MAX,
      queuedBytesMax: config.queuedBytesMax,
      deadlineMs: config.acknowledgeMs,
      nowMs: Date.now,
      watchdogMs: session.config.watchdogMs,
      isClusterAlive: kafkaProbe.alive,
      onFatal: runtime.fatal,
    });
    runtime.onStop(() => sender.stop());
    return sender;
  };
  const sender = await senderOf(TOPICS.raw);

  const partitions = session.config.eventPartitions;
  const secret = config.identitySecret;
  const limits = { windowMs: RATE_WINDOW_MS, perIp: config.requestsPerIp, perKey: config.requestsPerKey };
  const store = createAdmissionStore(redis, {
    limits,
    cluster: runtime.config.parts.redisCluster,
    checkpointsWanted: partitions,
    deadlineMs: ADMISSION_MS_MAX,
  });
  const addressOf = createAddressNamer(secret, blockListOf(config.ipExempt));
  const admitter = await createAdmitter({
    store,
    memory: createMemoryLimits(limits),
    leases: createReservationLeases({
      renew: async (leases, leaseMs) => (await store.renew(leases, leaseMs)) >= partitions,
      leaseMs: config.leaseMs,
      nowMs: Date.now,
    }),
    addressOf,
    nowMs: Date.now,
    metrics,
    logger,
  });
  runtime.onStop(async () => admitter.stop());
  const app = createApp({
    table: settings.table,
    trustedProxies: config.trustedProxies,
    limiter: createConcurrencyLimiter({ requestsMax: config.openRequestsMax, bytesMax: config.openBytesMax }),
    acceptor: createAcceptor({
      sender,
      schemaId,
      partitions,
      admitter,
      anonymousSalt: (nowMs) => salts.at(nowMs),
      identitySecret: secret,
      randomEventId: uuidv7,
      nowMs: Date.now,
      metrics,
    }),
    inventory: createInventory({
      sender: await senderOf(TOPICS.inventory),
      codec: await createCodec<InventoryRecord>(registry, TOPICS.inventory, 'inventory'),
      memory: createInventoryMemory(redis, logger),
      partitions,
      randomId: uuidv7,
      nowMs: Date.now,
    }),
    configOf: createConfigAnswers(settings.table),
    onKeyUsed: keyUse.saw,
    sharesLimits: () => admitter.isShared(),
    healthy: () => kafkaProbe.alive() && sender.oldestMs() < config.acknowledgeMs,
    nowMs: Date.now,
    strangers: createStrangers({
      requestsMax: config.requestsWithoutKey,
      windowMs: RATE_WINDOW_MS,
      addressOf,
      nowMs: Date.now,
    }),
    errors: createRequestErrors({
      metrics,
      logger,
      nowMs: Date.now,
      inARowMax: config.requestErrorsMax,
      fatal: runtime.fatal,
    }),
  });
  const port = await listen(app, config.host, config.port);
  runtime.onStop(() => app.close());
  runtime.ready({ url: `http://${config.host}:${port}` });
});
