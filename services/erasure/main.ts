import { randomBytes } from 'node:crypto';
import { createWarehouse, watchWarehouse } from '#infra/clickhouse/client.ts';
import { createPersonEraser } from '#infra/clickhouse/erase_persons.ts';
import { erasureConfig } from '#infra/config/service_config.ts';
import { followErasures } from '#infra/persons/erasure_topic.ts';
import { createPersonData } from '#infra/persons/person_data.ts';
import { createPersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createRecordSeal, parseKeyRing } from '#infra/secrets/seal.ts';
import { openRedis, runProcess } from '#services/stage/runtime.ts';
import { runErasures } from './erasure_runner.ts';

/** Requests on person.erasures -> tombstones on identity.links, deletions in Redis and ClickHouse, receipts on person.erasures. */
runProcess('erasure', erasureConfig, async (runtime, config) => {
  const { session, registry, logger, fatal, onStop, parts } = runtime;
  const { identitySecret } = config;
  const { redis, probe } = openRedis(runtime, config.parts);
  parts.needs('redis', probe.isAlive);
  const warehouse = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => warehouse.close());
  const clickhouse = watchWarehouse(config.parts.clickhouseUrl);
  onStop(() => clickhouse.stop());
  parts.needs('clickhouse', clickhouse.isAlive);
  const erasures = await followErasures(session, registry, logger, fatal, identitySecret);
  onStop(() => erasures.stop());
  const stop = await runErasures(
    {
      ...{ session, erasures, identitySecret, logger, nowMs: Date.now },
      seal: createRecordSeal(parseKeyRing(config.secretsKeys), randomBytes),
      data: createPersonData({ session, registry, redis, warehouse, identitySecret }),
      index: createPersonIndexEraser(redis),
      rows: createPersonEraser(warehouse, config.parts.clickhouseCluster),
    },
    fatal,
  );
  onStop(stop);
  runtime.ready();
});
