import { createWarehouse } from '#infra/clickhouse/client.ts';
import { migrate, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import type { ProvisionParts } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createRegistry, registerSchemas } from '#infra/registry/schema_registry.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

/** What provisioning did, in lines for a person; mismatches are never altered by us. */
export interface ProvisionReport {
  done: string[];
  mismatches: string[];
}

/** Creates what must exist: topics, schemas, tables. Idempotent; run at every start. */
export async function provision(parts: ProvisionParts, logger: Logger): Promise<ProvisionReport> {
  const [topics, tables] = await Promise.all([topicsAndSchemas(parts, logger), migrations(parts)]);
  return { done: [...topics.done, ...tables.done], mismatches: [...topics.mismatches, ...tables.mismatches] };
}

async function topicsAndSchemas(parts: ProvisionParts, logger: Logger): Promise<ProvisionReport> {
  const destinations = DESTINATIONS.map(({ name }) => name);
  const declared = declareTopics(destinations, parts.kafka);
  const kafka = createKafka(parts.kafka, 'svc.provision', logger);
  const topics = await provisionTopics(kafka, declared, parts.kafka.replicationFactor);
  await registerSchemas(createRegistry(parts.registryUrl, parts.kafka), declared);
  const created = topics.created.length === 0 ? [] : [`${topics.created.length} topics created`];
  const altered = topics.altered.length === 0 ? [] : [`${topics.altered.length} topics are stamped by the broker now`];
  return {
    done: [...created, ...altered],
    mismatches: topics.mismatches.map(
      ({ topic, setting, declared: wanted, found }) => `topic ${topic}: ${setting} is ${found}, declared ${wanted}`,
    ),
  };
}

async function migrations(parts: ProvisionParts): Promise<ProvisionReport> {
  const warehouse = createWarehouse(parts.clickhouseUrl);
  try {
    const report = await migrate(warehouse, parts.clickhouseUrl, parts.clickhouseCluster);
    const renewed = await renewDictionaries(warehouse, parts.clickhouseUrl, parts.clickhouseCluster);
    return {
      done: [
        ...(report.applied.length === 0 ? [] : [`${report.applied.length} migrations applied`]),
        ...(renewed.length === 0 ? [] : [`${renewed.length} dictionaries read with the configured password now`]),
      ],
      mismatches: report.mismatches.map(({ name, reason }) => `migration ${name}: ${reason} since it was applied`),
    };
  } finally {
    await warehouse.close();
  }
}
