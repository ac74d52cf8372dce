import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOPICS } from '#infra/kafka/topics.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { BenchChild } from '#test/bench/edge/child.ts';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { keysOf, textOfKey } from '#test/harness/redis_contents.ts';
import { startSecondEdge } from '#test/harness/second_edge.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { readTopics } from '#test/harness/topic.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse, kafka, redis: redisUrl } = service.ready;
const LONG_MS = 300_000;
/** The edge whose clock is behind: what it takes arrived then. */
const DAYS_AGO = 40;
const EMAIL = 'long.gone@example.com';

let site: TestSite;
let past: BenchChild;
let redis: Redis;
beforeAll(async () => {
  const clock = new URL('../../fault/world/shifted_clock.ts', import.meta.url);
  clock.searchParams.set('days', String(-DAYS_AGO));
  [site, past] = await Promise.all([
    makeSite(service),
    startSecondEdge(service, { NODE_OPTIONS: `--import ${clock.href}` }),
  ]);
  redis = new Redis(redisUrl);
}, LONG_MS);
afterAll(async () => {
  redis.disconnect();
  await past.stop();
  await site.close();
});

const says = (distinct_id: string, email: string): SentEvent =>
  newEvent({
    event: 'purchase',
    distinct_id,
    properties: { email, phone: '+43 660 1234567', value: 5, currency: 'EUR' },
  });

async function send(to: string, ...events: SentEvent[]): Promise<void> {
  for (const event of events) {
    expect(await postEvents(to, site.serverKey, [event])).toMatchObject({ body: { accepted: 1 } });
  }
}

interface Row {
  distinct_id: string;
  person: string;
  hours: number;
}

const rows = (): Promise<Row[]> =>
  select<Row>(
    clickhouse,
    `SELECT distinct_id, person_id AS person, dateDiff('hour', received_at, now()) AS hours FROM events
     WHERE site_id = {site:String} ORDER BY received_at, distinct_id`,
    { site: site.site },
  );
const links = async (): Promise<string[]> =>
  (
    await select<{ link: string }>(
      clickhouse,
      `SELECT concat(person_id, ' ', target) AS link FROM person_links FINAL WHERE site_id = {site:String} ORDER BY link`,
      { site: site.site },
    )
  ).map(({ link }) => link);

/** What Redis holds of the site's persons, key by key; `v` is how far all of them are. */
async function known(): Promise<string[]> {
  const own = (await keysOf(redis)).filter((key) => key.includes(`{${site.site}}`) && key.toString().startsWith('i:'));
  const texts = await Promise.all(own.map(async (key) => (await textOfKey(redis, key)).toString()));
  return texts.filter((text) => !text.startsWith(`i:{${site.site}}:v`)).sort();
}

/** Keys of records of identity.links that stand, of the site. */
async function onTopic(): Promise<string[]> {
  const newest = new Map<string, Buffer | null>();
  for (const { key, value } of await readTopics(kafka, [TOPICS.links])) newest.set(key ?? '', value);
  return [...newest].filter(([key, value]) => value !== null && key.startsWith(`${site.site}/`)).map(([key]) => key);
}

const person = (id: string): string => basePersonId(site.site, id);

test('whom nothing came of for longer than the site keeps persons is forgotten everywhere, others stay, and who returns is new', {
  timeout: LONG_MS,
}, async () => {
  await send(past.url, says('laptop', EMAIL), says('tablet', EMAIL), newEvent({ distinct_id: 'tablet' }));
  await send(
    past.url,
    newEvent({ event: 'purchase', distinct_id: 'loyal', properties: { email: 'loyal@example.com' } }),
  );
  // Of one only a page is seen since, which says nothing of who it is.
  await send(edge, newEvent({ distinct_id: 'loyal' }));
  await send(edge, newEvent({ event: 'purchase', distinct_id: 'fresh', properties: { email: 'fresh@example.com' } }));
  const before = await until('all rows', rows, (found) => found.length === 6, { timeoutMs: LONG_MS });
  expect(before.filter(({ hours }) => Number(hours) >= DAYS_AGO * 24)).toHaveLength(4);
  const linked = await until('all links', links, (found) => found.length === 4, { timeoutMs: LONG_MS });
  const gone = ['laptop', 'tablet'].map(person);
  const isTheirs = (text: string): boolean => gone.some((id) => text.includes(id));
  const knownBefore = await known();
  expect(knownBefore.filter(isTheirs).length).toBeGreaterThan(3);
  const onTopicBefore = await onTopic();
  expect(onTopicBefore.filter(isTheirs).length).toBeGreaterThan(3);

  await expect(site.settings.run('site', 'set', site.site, '--person-days', '29')).rejects.toThrow('days_malformed');
  await site.settings.run('site', 'set', site.site, '--person-days', '30');
  const left = await until('their links to go', links, (found) => !found.some(isTheirs), { timeoutMs: LONG_MS });
  expect(left).toEqual(linked.filter((link) => !isTheirs(link)));
  const emailNode = knownBefore.filter((text) => isTheirs(text) && /^i:\{[^}]+\}:n:/.test(text));
  expect(emailNode.length).toBeGreaterThan(0);
  const theirKeys = (text: string): boolean => isTheirs(text) || text.includes(sha256Hex(EMAIL));
  expect(await known()).toEqual(knownBefore.filter((text) => !theirKeys(text)));
  expect((await onTopic()).sort()).toEqual(onTopicBefore.filter((key) => !isTheirs(key)).sort());
  const ofTheirs = "cityHash64(arrayJoin(JSONExtract({ids:String}, 'Array(String)')))";
  const digests = `SELECT count() AS found FROM person_seen WHERE person_hash IN (SELECT ${ofTheirs})`;
  const [seen] = await select<{ found: number }>(clickhouse, digests, { ids: JSON.stringify(gone) });
  expect(Number(seen?.found)).toBe(0);
  const merged = `SELECT count() AS found FROM merged_persons
    WHERE key IN (SELECT cityHash64({site:String}, ${ofTheirs}))`;
  const [merges] = await select<{ found: number }>(clickhouse, merged, { site: site.site, ids: JSON.stringify(gone) });
  expect(Number(merges?.found)).toBe(0);
  // Events stay for their own days.
  expect((await rows()).map(({ distinct_id }) => distinct_id)).toEqual(before.map(({ distinct_id }) => distinct_id));

  await send(edge, says('tablet', EMAIL), says('phone', EMAIL));
  const after = await until(
    'the new rows',
    rows,
    (found) => found.length === 8 && found.at(-1)?.person === found.at(-2)?.person,
    { timeoutMs: LONG_MS },
  );
  const returned = after.filter(({ distinct_id, hours }) => Number(hours) < 24 && /tablet|phone/.test(distinct_id));
  expect(returned.map((row) => row.person)).toEqual([person('tablet'), person('tablet')]);
  await until('the new links', links, (found) => found.length === 4, { timeoutMs: LONG_MS });
});
