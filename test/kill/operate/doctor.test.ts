import { expect, test } from 'vitest';
import { partsConfig } from '#infra/config/service_config.ts';
import { withAdmin } from '#infra/kafka/client.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { provision } from '#services/stage/provision.ts';
import { runCommand } from '#test/harness/command.ts';
import { kafkaOf, quiet } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { until } from '#test/harness/until.ts';

const TEST_MS = 240_000;
const parts = useOwnParts('kafka', 'registry', 'redis', 'clickhouse');

function environmentOf(): Record<string, string> {
  const { kafkaBrokers, registryUrl, redisUrl, clickhouseUrl } = parts().addresses;
  return {
    ...{
      KAFKA_BROKERS: kafkaBrokers,
      SCHEMA_REGISTRY_URL: registryUrl,
      REDIS_URL: redisUrl,
      CLICKHOUSE_URL: clickhouseUrl,
    },
    // No service of this machine is meant.
    LOCAL_DIR: '/nonexistent',
  };
}

/** What is not well, by names of checks; it takes no secret to its output. */
async function notWell() {
  const env = environmentOf();
  const { code, output } = await runCommand('services/cli/main.ts', ['doctor', '--json'], env);
  const secrets = [env['REDIS_URL'], env['CLICKHOUSE_URL']].map((url) => new URL(url ?? '').password);
  expect(secrets.filter((secret) => secret === '' || output.includes(secret))).toEqual([]);
  const { checks } = JSON.parse(output) as { checks: { check: string; state: string; says: string }[] };
  const of = (state: string): string[] => checks.filter((one) => one.state === state).map(({ check }) => check);
  return { code, failures: of('failure'), warnings: of('warning'), ok: of('ok').length };
}

/** Of any machine of one broker. */
const HERE = expect.arrayContaining(['kafka.replication', 'redis.replica']);

test('three settings that are wrong are told of, and nothing else', { timeout: TEST_MS }, async () => {
  await provision(partsConfig(environmentOf()), quiet);
  expect(await notWell()).toMatchObject({ code: 0, failures: [], warnings: HERE });
  const { kafkaBrokers, registryUrl, redisUrl } = parts().addresses;
  await withAdmin(kafkaOf(kafkaBrokers), (admin) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: 2, name: 'events.raw', configEntries: [{ name: 'retention.ms', value: '3600000' }] }],
    }),
  );
  const redis = createRedis(redisUrl, quiet);
  await until('Redis to be set', () => redis.config('SET', 'maxmemory-policy', 'allkeys-lru'));
  redis.disconnect();
  await fetch(`${registryUrl}/config/events.raw-value`, {
    method: 'PUT',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ compatibility: 'NONE' }),
  });
  const { code, failures } = await notWell();
  expect(code).toBe(1);
  // All settings of a topic are set at once: those that are not named are the brokers' again.
  const ofTopic = ['kafka.retention', 'kafka.message_size', 'kafka.timestamps'];
  expect(failures.filter((check) => !ofTopic.includes(check))).toEqual([
    'redis.maxmemory_policy',
    'registry.compatibility',
  ]);
  expect(failures).toContain('kafka.retention');
});

test('a part that is down hides nothing of the others', { timeout: TEST_MS }, async () => {
  await parts().parts.kafka?.stop();
  const { code, failures, ok } = await notWell();
  expect(code).toBe(1);
  expect(failures).toEqual(['kafka.reachable', 'redis.maxmemory_policy', 'registry.compatibility']);
  expect(ok).toBeGreaterThan(20);
});
