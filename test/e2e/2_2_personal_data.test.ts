import { hash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { filesBelow, textsIn, textsInFile } from '#test/harness/byte_search.ts';
import { RECORD_CANARIES, residue, TEXT_CANARIES } from '#test/harness/canaries/canaries.ts';
import { select } from '#test/harness/clickhouse.ts';
import { defineEngage } from '#test/harness/engage.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { segmentBatches } from '#test/harness/kafka_segments.ts';
import { EMAIL, MARK, PLANTED_FORM, PLANTED_SURVEY, PLANTS, RAW, READ_MS } from '#test/harness/planted.ts';
import { PLANTED_DEFINITIONS, plantEngage, RAW_CARDS } from '#test/harness/planted_engage.ts';
import { keysOf, textOfKey } from '#test/harness/redis_contents.ts';
import type {} from '#test/harness/shared_parts.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { listTopics, readTopics } from '#test/harness/topic.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
/** What the parts write, and below it what the service does. */
const partsDir = inject('parts').dataDir;
const { edge, clickhouse, kafka, redis } = service.ready;
const EMAIL_SHA256 = hash('sha256', EMAIL);
const PHONE_SHA256 = hash('sha256', '+16505550142');
const ACCEPTED = PLANTS.reduce((sum, { accepted }) => sum + accepted, 0);
/** An event for each, so that its uuid tells where it is. */
const CANARIES = [
  ...TEXT_CANARIES.map(({ text, ...rest }) => ({ ...rest, properties: { note: text } })),
  ...RECORD_CANARIES,
];
const EVENTS_PER_REQUEST = 50;
/** So many rows a table is asked for at the most: more than all tests write. */
const ROWS_MAX = 1_000_000;

/** Says of each event that it is too large, so that every event becomes a dead letter too. */
let receiver: WebhookReceiver;
let site: TestSite;
/** What must be found nowhere: the planted texts and the keys. */
let raw: string[];
let answers: { what: string; status: number; text: string }[];
/** What was typed into every text of surveys, promos and forms. */
let typed: Awaited<ReturnType<typeof plantEngage>>;

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => 413);
  site = await makeSite(service, { webhookUrl: receiver.url, siteWords: ['--country', 'US'] });
  raw = [...RAW, ...RAW_CARDS, site.serverKey.toLowerCase(), site.browserKey.toLowerCase()];
  await defineEngage(site, edge, 'survey', PLANTED_SURVEY);
  await defineEngage(site, edge, 'form', PLANTED_FORM);
  answers = [];
  for (const { what, send } of PLANTS) {
    const answer = await send(edge, site.serverKey);
    answers.push({ what, status: answer.status, text: await textOf(answer) });
  }
  for (const kind of ['survey', 'promo', 'form'] as const) {
    await defineEngage(site, edge, kind, PLANTED_DEFINITIONS[kind]);
  }
  typed = await plantEngage(edge, site.browserKey, () => sleep(READ_MS));
  const accepted = ACCEPTED + typed.accepted;
  await untilStored(service, site.site, accepted);
  await until(
    'dead letters',
    () => select<{ n: number }>(clickhouse, DEAD_OUTCOMES, { site: site.site }),
    ([row]) => (row?.n ?? 0) >= accepted,
    { timeoutMs: 30_000 },
  );
  for (let from = 0; from < CANARIES.length; from += EVENTS_PER_REQUEST) {
    const some = CANARIES.slice(from, from + EVENTS_PER_REQUEST);
    const sent = some.map(({ properties, country }, index) =>
      newEvent({
        distinct_id: `canary-${from + index}`,
        properties: { ...properties, ...(country === undefined ? {} : { country }) },
      }),
    );
    const answer = await postEvents(edge, site.serverKey, sent);
    expect(answer.status).toBe(200);
  }
  await untilStored(service, site.site, accepted + CANARIES.length);
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

const DEAD_OUTCOMES =
  "SELECT toInt32(count()) AS n FROM delivery_outcomes WHERE site_id = {site:String} AND outcome = 'dead'";

const textOf = async (answer: object): Promise<string> =>
  answer instanceof Response ? answer.text() : JSON.stringify(answer);

test('every request is answered as planned, and no answer repeats anything', () => {
  expect(answers.map(({ what, status }) => [what, status])).toEqual(PLANTS.map(({ what, status }) => [what, status]));
  expect(answers.map(({ what, text }) => [what, ...textsIn(Buffer.from(text), raw)])).toEqual(
    PLANTS.map(({ what }) => [what]),
  );
});

test('what is typed into any text of a survey, promo or form is taken or refused, and repeated in no answer', () => {
  const repeating = typed.answers.filter(({ text }) => textsIn(Buffer.from(text), raw).length > 0);
  expect(repeating).toEqual([]);
  expect(typed.answers.filter(({ status }) => ![200, 400, 404].includes(status))).toEqual([]);
  expect(typed.accepted).toBeGreaterThan(100);
});

test('the person is known by hashes, in the warehouse and on the topics', async () => {
  const query = `SELECT email_sha256, phone_hmac FROM events WHERE site_id = {site:String} AND distinct_id = 'visitor-1'`;
  expect(await select(clickhouse, query, { site: site.site })).toEqual([
    { email_sha256: EMAIL_SHA256, phone_hmac: expect.stringMatching(/^[\w-]{32}$/) },
  ]);
  const records = await readTopics(kafka, ['events.raw', 'events.unique', 'events.identified']);
  for (const topic of ['events.raw', 'events.unique', 'events.identified']) {
    const values = records.filter((record) => record.topic === topic).map(({ value }) => value ?? Buffer.alloc(0));
    const all = Buffer.concat(values);
    const holds = (text: string): boolean => all.includes(text) || all.includes(Buffer.from(text, 'hex'));
    expect([topic, holds(EMAIL_SHA256), holds(PHONE_SHA256), all.includes(MARK)]).toEqual([topic, true, true, true]);
  }
});

test('whoever knows a phone number finds its person, though no row has its bare hash', async () => {
  const words = ['query', 'top', site.site, '--set', 'field.column=person_id', '--where', `phone_hmac=${PHONE_SHA256}`];
  const found = await site.settings.run<{ values: { value: string }[] }>(...words);
  const query = `SELECT DISTINCT person_id AS value FROM events WHERE site_id = {site:String} AND distinct_id = 'visitor-1'`;
  const [visitor] = await select<{ value: string }>(clickhouse, query, { site: site.site });
  expect(found.values.map(({ value }) => value)).toContain(visitor?.value);
});

test('what a destination was sent holds hashes only', () => {
  const bodies = Buffer.from(receiver.deliveries.map(({ body, path }) => `${path} ${body}`).join('\n'));
  expect(textsIn(bodies, raw)).toEqual([]);
  expect([bodies.includes(EMAIL_SHA256), bodies.includes(PHONE_SHA256)]).toEqual([true, true]);
});

test('in no record of any topic, dead letters among them', async () => {
  const records = await readTopics(kafka, await listTopics(kafka));
  const holding = new Set(records.filter(({ value }) => value?.includes(MARK)).map(({ topic }) => topic));
  expect([...holding].sort()).toEqual(['dead.delivery', 'events.identified', 'events.raw', 'events.unique']);
  const found = records.map(({ topic, key, value }) => ({
    topic,
    found: textsIn(Buffer.concat([Buffer.from(`${key} `), value ?? Buffer.alloc(0)]), raw),
  }));
  expect(found.filter((one) => one.found.length > 0)).toEqual([]);
});

test('of the whole corpus nothing is in a batch of events or in a row', async () => {
  const batches = (await readTopics(kafka, ['events.raw', 'events.identified'])).map(
    ({ value }) => value ?? Buffer.alloc(0),
  );
  const bytes = Buffer.concat(batches);
  expect(bytes.includes('canary-0')).toBe(true);
  const written = CANARIES.flatMap(({ raw }) => raw).filter((one) => one.length >= 8);
  expect(written.filter((one) => bytes.includes(one))).toEqual([]);
  const rows = await select<{ distinct_id: string }>(
    clickhouse,
    "SELECT * EXCEPT (timestamp, received_at) FROM event_rows WHERE site_id = {site:String} AND startsWith(distinct_id, 'canary-')",
    { site: site.site },
  );
  expect(rows).toHaveLength(CANARIES.length);
  const left = rows.filter((row) => {
    const canary = CANARIES[Number(row.distinct_id.slice('canary-'.length))];
    return residue(JSON.stringify(row), canary?.raw ?? []).length > 0;
  });
  expect(left).toEqual([]);
});

test('in no batch of any Kafka segment, decompressed', () => {
  let batches = 0;
  let marked = 0;
  for (const { path, records } of segmentBatches(join(partsDir, 'kafka'))) {
    batches += 1;
    if (records.includes(MARK)) marked += 1;
    expect([path, ...textsIn(records, raw)]).toEqual([path]);
  }
  expect(batches).toBeGreaterThan(marked);
  expect(marked).toBeGreaterThanOrEqual(4);
});

test('in no column of any table, whatever its database', async () => {
  const tables = await select<{ name: string }>(
    clickhouse,
    `SELECT concat('\`', database, '\`.\`', name, '\`') AS name FROM system.tables
     WHERE engine LIKE '%MergeTree' OR engine LIKE '%Log'`,
  );
  const marked: string[] = [];
  for (const { name } of tables) {
    const rows = await select<object>(clickhouse, `SELECT * FROM ${name} LIMIT ${ROWS_MAX}`);
    expect(rows.length).toBeLessThan(ROWS_MAX);
    const text = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
    expect([name, ...textsIn(text, [...raw, PHONE_SHA256])]).toEqual([name]);
    if (text.includes(MARK)) marked.push(name);
  }
  expect(marked).toEqual([expect.stringContaining('event_rows')]);
});

test('in no key or value of Redis, nor in its dump', async () => {
  const client = new Redis(redis);
  try {
    const keys = await keysOf(client);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(textsIn(await textOfKey(client, key), raw)).toEqual([]);
    }
    // Long texts would be compressed in the dump.
    await client.config('SET', 'rdbcompression', 'no');
    await client.save();
    const dump = join(partsDir, 'redis', 'dump.rdb');
    expect(textsInFile(dump, ['redis-ver', ...raw])).toEqual(['redis-ver']);
  } finally {
    await client.config('SET', 'rdbcompression', 'yes');
    client.disconnect();
  }
});

test('in no byte of any file: segments, parts, append-only files, dumps, logs', { timeout: 240_000 }, () => {
  const files = filesBelow(partsDir);
  const folders = new Set(files.map((path) => path.slice(partsDir.length + 1).split('/')[0]));
  expect([...folders]).toEqual(expect.arrayContaining(['kafka', 'redis', 'clickhouse', 'log', 'service']));
  const found = files.map((path) => [path, ...textsInFile(path, raw)]).filter(({ length }) => length > 1);
  expect(found).toEqual([]);
});

test('the logs were written meanwhile', () => {
  expect(textsInFile(join(service.dataDir, 'log', 'edge.log'), ['"msg":"ready"'])).not.toEqual([]);
});
