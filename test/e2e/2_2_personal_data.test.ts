import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { listTopics, readTopics } from '#test/harness/topic.ts';

const service = sharedService();
const { edge, clickhouse, kafka, redis } = service.ready;

/** What must be found nowhere, in lower case. */
const RAW = ['quentin.zyx', 'zyx-mail.example', '6505550142', '650-555-0142', '(650) 555', 'zyxwvuts'];

const EVENTS = [
  newEvent({
    event: 'identify',
    distinct_id: 'visitor-1',
    properties: {
      email: ' Quentin.Zyx@Zyx-Mail.example ',
      phone: '+1 (650) 555-0142',
      first_name: 'Zyxwvuts',
      last_name: 'Zyxwvuts',
      nested: { list: ['call +1 (650) 555-0142', { contact: 'quentin.zyx@zyx-mail.example' }] },
      page: 'https://shop.example/?email=quentin.zyx%40zyx-mail.example&tel=%2B16505550142',
    },
  }),
  newEvent({ distinct_id: 'Quentin.Zyx@zyx-mail.example', properties: { title: 'Mail quentin.zyx@zyx-mail.example' } }),
  newEvent({
    event: 'purchase',
    distinct_id: '+16505550142',
    properties: { order_id: 'quentin.zyx@zyx-mail.example' },
  }),
  newEvent({ event: 'mail quentin.zyx@zyx-mail.example', uuid: 'quentin.zyx@zyx-mail.example-1' }),
  { ...newEvent(), properties: { email: 'quentin.zyx@zyx-mail.example', $action_source: 'unknown zyxwvuts' } },
];
const ACCEPTED = 4;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--country', 'US'] });
  expect(await postEvents(edge, site.serverKey, EVENTS)).toMatchObject({ status: 200, body: { accepted: ACCEPTED } });
  await untilStored(service, site.site, ACCEPTED);
});
afterAll(() => site.close());

const found = (text: string): string[] => RAW.filter((raw) => text.toLowerCase().includes(raw));

test('the e-mail address and number are known by their hashes', async () => {
  const query = `SELECT email_sha256, phone_sha256 FROM events WHERE site_id = {site:String} AND distinct_id = 'visitor-1'`;
  expect(await select(clickhouse, query, { site: site.site })).toEqual([
    { email_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), phone_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
});

test('in no column of any table', async () => {
  const tables = await select<{ name: string }>(
    clickhouse,
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'",
  );
  expect(tables.map(({ name }) => name)).toContain('event_rows');
  for (const { name } of tables) {
    const rows = await select<object>(clickhouse, `SELECT * FROM ${name}`);
    expect([name, ...rows.flatMap((row) => found(JSON.stringify(row)))]).toEqual([name]);
  }
});

test('in no record of any topic', async () => {
  const records = await readTopics(kafka, await listTopics(kafka));
  expect(records.filter(({ topic }) => topic === 'events.identified').length).toBeGreaterThan(0);
  const texts = records.map(({ topic, key, value }) => ({ topic, raw: found(`${key} ${value?.toString('latin1')}`) }));
  expect(texts.filter(({ raw }) => raw.length > 0)).toEqual([]);
});

test('in no key or value of Redis', async () => {
  const client = new Redis(redis);
  const keys = await client.keys('*');
  expect(keys.length).toBeGreaterThan(0);
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => client.get(key),
    hash: (key) => client.hgetall(key),
    set: (key) => client.smembers(key),
    zset: (key) => client.zrange(key, 0, '-1'),
    list: (key) => client.lrange(key, 0, -1),
  };
  for (const key of keys) {
    const value = await readers[await client.type(key)]?.(key);
    expect(found(`${key} ${JSON.stringify(value)}`)).toEqual([]);
  }
  client.disconnect();
});

test('in no log', () => {
  const folder = join(service.dataDir, 'log');
  const logs = readdirSync(folder);
  expect(logs).toContain('edge.log');
  for (const name of logs) expect([name, ...found(readFileSync(join(folder, name), 'utf8'))]).toEqual([name]);
});
