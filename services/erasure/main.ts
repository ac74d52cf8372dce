import { randomBytes } from 'node:crypto';
import { createWarehouse, watchWarehouse } from '#infra/clickhouse/client.ts';
import { createPersonEraser, createSiteEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import { createRestoredPersons } from '#infra/clickhouse/erasure/restored_persons.ts';
import { createUnseenPersons } from '#infra/clickhouse/erasure/unseen_persons.ts';
import { erasureConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { followErasures } from '#infra/persons/erasure_topic.ts';
import { createPersonData } from '#infra/persons/person_data.ts';
import { createPersonIndexEraser, createSiteKeyEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createIdentityStore } from '#infra/redis/indexes/identity_index.ts';
import { createRecordSeal, parseKeyRing } from '#infra/secrets/seal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { openRedis, openSecondaryRedis, openSettings, runProcess } from '#services/stage/runtime.ts';
import { runErasures } from './erasure_runner.ts';
import { createNoticeSender } from './notices.ts';

const NAMES = DESTINATIONS.map(({ name }) => name);

/**
 * Requests on person.erasures -> tombstones on identity.links, deletions in Redis and ClickHouse, receipts on person.erasures,
 * destinations that are told. And persons whom their sites keep no longer are forgotten.
 */
runProcess(
  'erasure',
  (env) => erasureConfig(env, NAMES),
  async (runtime, config) => {
    const { session, registry, logger, fatal, onStop, parts } = runtime;
    const { identitySecret } = config;
    const { redis, probe } = openRedis(runtime, config.parts);
    parts.needs('redis', probe.isAlive);
    const secondary = openSecondaryRedis(runtime, config.parts, redis);
    const warehouse = createWarehouse(config.parts.clickhouseUrl);
    onStop(() => warehouse.close());
    const clickhouse = watchWarehouse(config.parts.clickhouseUrl);
    onStop(() => clickhouse.stop());
    parts.needs('clickhouse', clickhouse.isAlive);
    const erasures = await followErasures(session, registry, logger, fatal, identitySecret);
    onStop(() => erasures.stop());
    const { table: settings } = await openSettings(runtime);
    const egress = createEgress({
      ...EGRESS_DEFAULTS,
      allowHttp: config.allowLoopback,
      allowLoopback: config.allowLoopback,
    });
    onStop(() => egress.close());
    const ring = parseKeyRing(config.secretsKeys);
    const seal = createRecordSeal(ring, randomBytes);
    const notices = createNoticeSender({
      ...{ adapters: DESTINATIONS, settings, ring, seal, egress, baseUrls: config.deliveryBaseUrls, logger },
      ...{ random: Math.random, nowMs: Date.now },
    });
    const stop = await runErasures(
      {
        ...{
          session,
          erasures,
          settings,
          adapters: DESTINATIONS,
          notices,
          seal,
          identitySecret,
          sweepHour: config.personMergeHour,
          eventDays: config.eventDays,
          logger,
          nowMs: Date.now,
        },
        data: createPersonData({ session, registry, redis, warehouse, identitySecret }),
        index: createPersonIndexEraser(redis, secondary),
        siteKeys: createSiteKeyEraser(redis, secondary),
        rows: createPersonEraser(warehouse, config.parts.clickhouseCluster),
        siteRows: createSiteEraser(warehouse, config.parts.clickhouseCluster),
        restored: createRestoredPersons(warehouse, config.parts.clickhouseCluster, identitySecret),
        unseen: createUnseenPersons(warehouse, config.parts.clickhouseCluster),
        persons: createIdentityStore(redis),
      },
      fatal,
    );
    onStop(stop);
    runtime.ready();
  },
);
