import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sign } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { basePersonId, nodeOf } from '#pipelines/identity/identity.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { ErasureItem } from '#services/control_api/persons.ts';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { select } from '#test/harness/clickhouse.ts';
import { expectGone } from '#test/harness/erased_traces.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import type {} from '#test/harness/shared_parts.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const partsDir = inject('parts').dataDir;
const { edge, clickhouse, redis } = service.ready;
const secret = Buffer.from(readFileSync(join(service.dataDir, 'identity.secret'), 'utf8').trim(), 'base64');

const PERSONS = 10_000;
const ERASED = 100;
/** Of each: two orders that name the address, of two distinct ids, and a page. */
const EVENTS_EACH = 3;
/** As many as a request may have. */
const EVENTS_PER_REQUEST = 50;
const LONG_MS = 900_000;

const refusedNotices = new Set<string>();
const isNotice = (body: string): boolean => body.startsWith('{"type":"person.erased"');

let receiver: WebhookReceiver;
let site: TestSite;
const isErased = (person: number): boolean => person % (PERSONS / ERASED) === 0;
const emailOf = (person: number): string => `person-${person}-of-the-drill@example.com`;
const idsOf = (person: number): [string, string] => [`laptop-of-${person}-x`, `phone-of-${person}-x`];
const erased = Array.from({ length: PERSONS }, (_, person) => person).filter(isErased);

beforeAll(async () => {
  // It refuses what is of every second erased person, so that there are dead letters too.
  receiver = await startWebhookReceiver((body) => {
    if (!isNotice(body)) return /laptop-of-(0|\d*00)-x/.test(body) ? 413 : 200;
    // Each message is refused once.
    if (refusedNotices.has(body)) return 200;
    refusedNotices.add(body);
    return 503;
  });
  site = await makeSite(service, { webhookUrl: receiver.url });
  const events: SentEvent[] = [];
  for (let person = 0; person < PERSONS; person++) {
    const [laptop, phone] = idsOf(person);
    const order = (distinct_id: string) =>
      newEvent({ event: 'purchase', distinct_id, properties: { email: emailOf(person), value: 1, currency: 'EUR' } });
    events.push(order(laptop), order(phone), newEvent({ distinct_id: laptop }));
  }
  for (let at = 0; at < events.length; at += EVENTS_PER_REQUEST) {
    const answer = await postEvents(edge, site.serverKey, events.slice(at, at + EVENTS_PER_REQUEST));
    expect(answer).toMatchObject({ status: 200, body: { accepted: EVENTS_PER_REQUEST } });
  }
  await until('all rows', rowsOf, (rows) => rows === PERSONS * EVENTS_EACH, { timeoutMs: LONG_MS });
  await until('all deliveries', delivered, (count) => count >= (PERSONS - ERASED) * EVENTS_EACH, {
    timeoutMs: LONG_MS,
  });
}, LONG_MS);
afterAll(async () => {
  await site.close();
  await receiver.close();
});

async function rowsOf(): Promise<number> {
  const query = 'SELECT toInt32(count()) AS rows FROM event_rows WHERE site_id = {site:String}';
  const [row] = await select<{ rows: number }>(clickhouse, query, { site: site.site });
  return row?.rows ?? 0;
}

const delivered = (): number => receiver.deliveries.filter(({ body }) => !isNotice(body)).length;
const erasures = (): Promise<ErasureItem[]> => site.settings.run<ErasureItem[]>('erasure', 'list', '--site', site.site);

/** Everything that is theirs by name: ids, what is made of them, addresses and their hashes. */
function theirs(): string[] {
  const texts = erased.flatMap((person) => {
    const sha256 = sha256Hex(emailOf(person));
    const ids = idsOf(person);
    const persons = ids.map((id) => basePersonId(site.site, id));
    return [...ids, ...persons, sha256, nodeOf(secret, site.site, 'email', sha256)];
  });
  return texts.map((text) => text.toLowerCase());
}

/** Kills the process that erases when an erasure is first seen so far. */
async function killedAt(isThere: (all: ErasureItem[]) => boolean): Promise<void> {
  const before = await readyProcess(service, 'erasure');
  await until('the moment', erasures, isThere, { timeoutMs: LONG_MS });
  process.kill(before.pid, 'SIGKILL');
  await readyProcess(service, 'erasure', before);
}

test('a hundred of ten thousand are erased under load, though the process is killed on the way', {
  timeout: LONG_MS,
}, async () => {
  const ofOthers = async (): Promise<unknown> =>
    select(
      clickhouse,
      `SELECT cityHash64(groupArray((distinct_id, events))) AS all, toInt32(count()) AS visitors FROM (
         SELECT distinct_id, count() AS events FROM event_rows
         WHERE site_id = {site:String} AND startsWith(event, 'p') AND NOT match(distinct_id, '^(laptop|phone)-of-(0|[0-9]*00)-x$')
         GROUP BY distinct_id ORDER BY distinct_id)`,
      { site: site.site },
    );
  const before = await ofOthers();
  let isOver = false;
  let flowed = 0;
  const flow = async (): Promise<void> => {
    while (!isOver) {
      const some = Array.from({ length: 20 }, (_, at) =>
        newEvent({ event: 'flow', distinct_id: `flow-${at}`, properties: { email: `flow-${at}@example.com` } }),
      );
      if ((await postEvents(edge, site.serverKey, some)).status === 200) flowed += some.length;
      await sleep(50);
    }
  };
  const flowing = flow();
  for (const person of erased) {
    await site.settings.run('person', 'erase', '--site', site.site, '--email', emailOf(person), '--detach');
  }
  await killedAt((all) => all.some(({ detail }) => detail === 'waiting'));
  await killedAt((all) => all.some(({ phase }) => phase === 'deleting'));
  const all = await until(
    'all receipts',
    erasures,
    (seen) => seen.length === ERASED && seen.every(({ phase }) => phase === 'done'),
    { timeoutMs: LONG_MS },
  );
  isOver = true;
  await flowing;
  for (const { erased: counts } of all) {
    expect(counts).toContainEqual({ place: 'event_rows', count: EVENTS_EACH });
  }
  const told = await until(
    'all that the webhook is told',
    erasures,
    (seen) =>
      seen.every(({ destinations }) => destinations.every(({ name, state }) => name !== 'webhook' || state === 'told')),
    { timeoutMs: LONG_MS },
  );
  expect(told).toHaveLength(ERASED);
  const notices = receiver.deliveries.filter(({ body }) => isNotice(body));
  const ids = notices.flatMap(
    ({ body }) => (JSON.parse(body) as { data: { distinct_ids: string[] } }).data.distinct_ids,
  );
  expect([...new Set(ids)].sort()).toEqual(erased.flatMap(idsOf).sort());
  for (const { headers, body } of notices) {
    const [id = '', stamp = ''] = [headers['webhook-id'], headers['webhook-timestamp']];
    expect(headers['webhook-signature']).toBe(sign(site.webhookSecret, id, Number(stamp), body));
  }
  expect(await ofOthers()).toEqual(before);
  const rest = (PERSONS - ERASED) * EVENTS_EACH + flowed;
  await until('the rows of others', rowsOf, (rows) => rows === rest, { timeoutMs: LONG_MS });
  const hours = 'SELECT toInt32(sum(events)) AS events FROM event_hours WHERE site_id = {site:String}';
  expect(await select(clickhouse, hours, { site: site.site })).toEqual([{ events: rest }]);
});

test('neither late events, a replay by force nor dead letters bring them back', { timeout: LONG_MS }, async () => {
  const [first = 0] = erased;
  const late = [...idsOf(first).map((distinct_id) => newEvent({ distinct_id })), newEvent({ distinct_id: 'flow-0' })];
  const rows = await rowsOf();
  await postEvents(edge, site.serverKey, late);
  await until('the other event', rowsOf, (now) => now === rows + 1);
  const before = receiver.deliveries.length;
  const range = ['--from', '1h', '--to', 'now', '--site', site.site, '--destination', 'webhook', '--force'];
  const replay = await site.settings.run<ReplayItem>('replay', 'start', ...range, '--rate', '5000');
  expect(replay.state).toBe('done');
  await site.settings.run('dead', 'resend', '--all', '--site', site.site).catch(() => undefined);
  const sent = receiver.deliveries.slice(before).map(({ body }) => Buffer.from(body));
  expect(sent.length).toBeGreaterThanOrEqual((PERSONS - ERASED) * EVENTS_EACH);
  const texts = new Set(erased.flatMap(idsOf));
  const sentIds = sent.map(
    (body) => (JSON.parse(body.toString()) as { data: { distinct_id: string } }).data.distinct_id,
  );
  expect(sentIds.filter((id) => texts.has(id))).toEqual([]);
  expect(await rowsOf()).toBe(rows + 1);

  // What the topics still hold of them is not taught again.
  const client = new Redis(redis);
  await client.flushdb();
  client.disconnect();
  await postEvents(edge, site.serverKey, [newEvent({ distinct_id: 'flow-1' })]);
  await until('the rebuilt indexes', rowsOf, (now) => now === rows + 2, { timeoutMs: LONG_MS });
});

test('no id or hash of theirs stands anywhere but where its days are stated', { timeout: LONG_MS }, async () => {
  const compacted = ['identity.links', 'person.erasures'];
  await expectGone({ service, partsDir, texts: theirs(), compacted, serverKey: site.serverKey });
});
