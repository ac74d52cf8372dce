import { v7 as uuidv7 } from 'uuid';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import { type EdgeConfig, edgeConfig } from '#infra/config/edge_config.ts';
import { createScriptFetcher } from '#infra/egress/fetch_script.ts';
import { listen } from '#infra/http/http_server.ts';
import type { PartitionSender } from '#infra/kafka/producer/sender.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Redis } from '#infra/redis/client.ts';
import { createInventoryMemory } from '#infra/redis/inventory.ts';
import { noteKeyUses } from '#infra/redis/key_use.ts';
import { createRefusalNoting, markRefusalsCounted } from '#infra/redis/refusals.ts';
import { createTagNoting } from '#infra/redis/tag_health.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { createConfigAnswers } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { InventoryRecord } from '#schemas/inventory.ts';
import { openRedis, openSettings } from '#services/open_parts.ts';
import { createRequestErrors, type RequestErrors } from '#services/request_errors.ts';
import { type Runtime, runProcess } from '#services/runtime.ts';
import { createApp } from './app.ts';
import { createConcurrencyLimiter } from './concurrency_limiter.ts';
import { createAudienceNotes } from './engage/audience_notes.ts';
import { openEngage } from './engage/open_engage.ts';
import { createInventory, type InventoryIntake } from './inventory.ts';
import { createKeyUse, type KeyUse } from './key_use.ts';
import { createScriptCache, type ScriptCache } from './loaders/script_cache.ts';
import { openAcceptor, openAdmitter, RATE_WINDOW_MS } from './open_acceptor.ts';
import { openSenders } from './open_senders.ts';
import { createRefusals, type Refusals } from './refusals.ts';
import { blockListOf, createAddressNamer } from './requester_address.ts';
import { createStrangers } from './strangers.ts';
import { buildScripts, TAG_SOURCES } from './tag/scripts.ts';
import { createTagHealth, type TagHealth } from './tag/tag_health.ts';

/** An edge whose clock differs more from that of Redis is not ready. */
const CLOCK_MS_MAX = 5 * 60_000;

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
  const admitter = await openAdmitter(runtime, config, redis, addressOf);
  const engage = openEngage(runtime, redis, config.identitySecret, addressOf);
  const noteAudience = createAudienceNotes(table, engage.memory);
  const app = createApp({
    table,
    identitySecret: config.identitySecret,
    trustedProxies: config.trustedProxies,
    limiter: createConcurrencyLimiter({ requestsMax: config.openRequestsMax, bytesMax: config.openBytesMax }),
    isExempt: (clientIp) => addressOf(clientIp) === null,
    acceptor: await openAcceptor(runtime, config, {
      redis,
      admitter,
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
    sharesLimits: () => admitter.isShared(),
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
  const keyUse = createKeyUse({ note: (uses) => noteKeyUses(redis, uses), nowMs: Date.now });
  onStop(() => keyUse.stop());
  return keyUse;
}

function openTagHealth({ onStop }: Runtime, redis: Redis, table: SettingsTable): TagHealth {
  const tagHealth = createTagHealth({ table, note: createTagNoting(redis), nowMs: Date.now });
  onStop(() => tagHealth.stop());
  return tagHealth;
}

function openRefusals({ onStop }: Runtime, redis: Redis, secret: Buffer): Refusals {
  const note = createRefusalNoting(redis);
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

/** More than any vendor's script has, and little enough for many to be decoded at a time. */
const SCRIPT_BYTES_MAX = 2 * 1024 * 1024;

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
