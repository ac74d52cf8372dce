import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { queryLedger } from '#infra/clickhouse/delivery_ledger.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { dictionaryFigures, reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { createRunningQueries } from '#infra/clickhouse/queries/running_queries.ts';
import { createRowEstimates } from '#infra/clickhouse/queries/select_rows.ts';
import { keepDays } from '#infra/clickhouse/retention.ts';
import { readServerHealth } from '#infra/clickhouse/server_health.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka, type Kafka } from '#infra/kafka/client.ts';
import { explicitPartitioner, openFencedProducer } from '#infra/kafka/producers.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { loginsOf } from '#services/local/parts/clickhouse/users.ts';
import { processEnvironment } from '#services/local/start/processes.ts';
import { quiet } from '#test/harness/kafka.ts';
import { processesWith } from '#test/harness/processes.ts';
import { sharedService } from '#test/harness/shared_service.ts';

/*
 * The processes of the service that these tests share have the rights of infra/rights: with too few of them other tests fail. Here is
 * what would be too many, and what a process does so seldom that no other test waits for it.
 */
const { ready, dataDir } = sharedService();
const ADDRESSES = {
  KAFKA_BROKERS: ready.kafka,
  SCHEMA_REGISTRY_URL: ready.registry,
  REDIS_URL: ready.redis,
  CLICKHOUSE_URL: ready.clickhouse,
};
const LOGINS = loginsOf(dataDir, {
  kafkaBrokers: ready.kafka,
  redisUrl: ready.redis,
  clickhouseUrl: ready.clickhouse,
});

/** The environment of a process of the service, with addresses of its own user. */
const environmentOf = (name: string): Record<string, string> => processEnvironment(name, ADDRESSES, LOGINS);

function kafkaAs(name: string): Kafka {
  const env = { ...ADDRESSES, ...environmentOf(name) };
  return createKafka(partsConfig(env).kafka, 'svc.test', quiet, 0);
}

const warehouses: Warehouse[] = [];
function warehouseAs(name: string): Warehouse {
  const warehouse = createWarehouse(environmentOf(name)['CLICKHOUSE_URL'] ?? '');
  warehouses.push(warehouse);
  return warehouse;
}
afterAll(() => Promise.all(warehouses.map((warehouse) => warehouse.close())));

test.for(['edge', 'dedup', 'identity', 'quota', 'control', 'warehouse', 'delivery_webhook'])(
  'the process of svc_%s runs as that user',
  (name) => {
    // By its password, as services of other data folders have users of the same names.
    const password = LOGINS.kafka?.passwords[`svc_${name}`] ?? '';
    expect(processesWith('KAFKA_SASL_PASSWORD', password)).toHaveLength(1);
  },
);

test('no process was refused anything', () => {
  const folder = join(dataDir, 'log');
  const refused = readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => /ACCESS_DENIED|NOPERM|AUTHORIZATION_FAILED|authorization failed|Not authorized/.test(line))
      .map((line) => `${name}: ${line}`),
  );
  expect(refused).toEqual([]);
});

test.for([
  ['edge', 'site.config'],
  ['edge', 'audit'],
  ['edge', 'audit.reads'],
  ['edge', 'events.unique'],
  ['dedup', 'site.config'],
  ['quota', 'site.config'],
  ['delivery.webhook', 'site.config'],
  ['delivery.webhook', 'delivery.meta.replay'],
  ['warehouse', 'events.raw'],
  ['replay', 'audit'],
])('%s cannot write %s', async ([name = '', topic = '']) => {
  const producer = kafkaAs(name).producer({ allowAutoTopicCreation: false, createPartitioner: explicitPartitioner });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const messages = [{ key: 'nobody', value: 'nothing', partition: 0 }];
  await expect(producer.send({ topic, messages })).rejects.toThrow('Not authorized to access topics');
});

test('the edge cannot take the place of a writer of settings', async () => {
  await (await openFencedProducer(kafkaAs('control'), 'svc.control.test')).close();
  // The client is not told where the coordinator is.
  await expect(openFencedProducer(kafkaAs('edge'), 'svc.control.test')).rejects.toThrow('group coordinator');
});

test.for([
  ['edge', 'get', 'session:x'],
  ['edge', 'set', 'session:x', 'y'],
  ['edge', 'set', '{sign_in}:known:x', '1'],
  ['edge', 'set', 'i:{s}:p:x', 'y'],
  ['edge', 'get', 'd:epoch'],
  ['edge', 'scan', '0'],
  ['edge', 'flushdb'],
  ['edge', 'config', 'get', '*'],
  ['edge', 'eval', "return redis.call('GET', 'session:x')", '0'],
  ['dedup', 'get', 'i:epoch'],
  ['identity', 'del', 'd:epoch'],
  ['quota', 'get', 'session:x'],
  ['control', 'hset', 'q:{edges}checkpoints', '0', '0'],
])('%s may not have Redis do %s %s', async ([name = '', command = '', ...words]) => {
  const redis = createRedis(environmentOf(name)['REDIS_URL'] ?? '', quiet);
  onTestFinished(() => redis.disconnect());
  await expect(redis.call(command, ...words)).rejects.toThrow(/NOPERM|No permissions|can't access/i);
});

test('nobody is let into Redis without a password', async () => {
  const url = new URL(ready.redis);
  const redis = createRedis(`redis://${url.host}`, quiet);
  onTestFinished(() => redis.disconnect());
  await expect(redis.call('get', 'session:x')).rejects.toThrow(/NOAUTH/);
});

test('the edge and the deliveries are not told of a ClickHouse', () => {
  for (const name of ['edge', 'delivery.meta', 'dedup', 'identity', 'quota']) {
    expect(environmentOf(name)['CLICKHOUSE_URL']).toBeUndefined();
  }
});

test.for([
  ['control', 'INSERT INTO duplicates (site_id) VALUES ()'],
  ['control', 'ALTER TABLE event_rows DELETE WHERE 1'],
  ['control', 'DROP TABLE event_rows'],
  ['replay', 'SELECT count() FROM event_rows'],
  ['erasure', 'DROP TABLE event_rows'],
  ['erasure', 'INSERT INTO event_rows (site_id) VALUES ()'],
  ['warehouse', 'DROP TABLE event_rows'],
  ['warehouse', 'ALTER TABLE person_links DELETE WHERE 1'],
  ['warehouse', 'SELECT count() FROM quota_usage'],
  ['warehouse', "INSERT INTO schema_migrations (name) VALUES ('x')"],
  ['warehouse', 'CREATE TABLE mine (x UInt8) ENGINE = Memory'],
])('%s may not have ClickHouse do: %s', async ([name = '', query = '']) => {
  await expect(warehouseAs(name).command({ query })).rejects.toMatchObject({ code: '497' });
});

test('the warehouse may look after its tables', async () => {
  const warehouse = warehouseAs('warehouse');
  // To another number of days and back to what the process has set.
  await keepDays(warehouse, 'duplicates', 31);
  await keepDays(warehouse, 'duplicates', 30);
  await reloadPersons(warehouse);
  expect((await dictionaryFigures(warehouse)).map(({ name }) => name).sort()).toEqual([
    'merged_persons_base',
    'merged_persons_recent',
  ]);
  const check = { place: 'nowhere', checked_below: '0', checked_at: 0 };
  await warehouse.insert({ table: 'repeat_checks', values: [check], format: 'JSONEachRow' });
  const { parts, disks } = await readServerHealth(warehouse, null);
  expect(parts.map(({ table }) => table)).toContain('repeat_checks');
  expect(disks.length).toBeGreaterThan(0);
  await checkDuplicates(warehouse);
  expect(await mergeNightly(warehouse)).toMatchObject({ daysForgotten: 0 });
});

test('the control service may ask what it asks beside questions', async () => {
  const warehouse = warehouseAs('control');
  expect(await createRunningQueries(warehouse, null).list()).toEqual(expect.any(Array));
  const estimate = createRowEstimates(warehouse, null, () => 0);
  expect(await estimate('nobody', { from: 0, to: 1 })).toBe(0);
  const file = await createParquetWriter(warehouse)({ columns: ['n'], rows: [[1]] });
  expect(file.subarray(0, 4).toString()).toBe('PAR1');
});

test('replays may ask what was delivered', async () => {
  const places = [{ partition: 0, offset: 0, index: 0 }];
  expect(
    await queryLedger(warehouseAs('replay'), {
      destination: 'meta',
      siteIds: ['nobody'],
      arrived: { firstMs: 0, lastMs: 0 },
      places,
    }),
  ).toEqual([]);
});
