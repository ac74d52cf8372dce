import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { basePersonId, nodeOf } from '#pipelines/identity/identity.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { ErasureItem } from '#services/control_api/persons.ts';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { select } from '#test/harness/clickhouse.ts';
import { CLEANED, compactSoon, expectGone } from '#test/harness/erased_traces.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { readMetrics, total } from '#test/harness/metrics.ts';
import { keysOf } from '#test/harness/redis_contents.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import type {} from '#test/harness/shared_parts.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { readTopics } from '#test/harness/topic.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const partsDir = inject('parts').dataDir;
const { edge, clickhouse, kafka, redis } = service.ready;
const secret = Buffer.from(readFileSync(join(service.dataDir, 'identity.secret'), 'utf8').trim(), 'base64');

const PERSONS = 1_000;
/** Of each: two orders of two distinct ids that name the address. */
const EVENTS_EACH = 2;
const EVENTS_PER_REQUEST = 50;
const LONG_MS = 900_000;
/** In the settings of the site alone. */
const MARK = 'only-in-what-is-erased';

let receiver: WebhookReceiver;
let gone: TestSite;
let stays: TestSite;

/** Visitors of both sites have the same ids; addresses tell them apart. */
const idsOf = (person: number): [string, string] => [`tablet-of-${person}-y`, `desk-of-${person}-y`];
const emailOf = (site: string, person: number): string => `person-${person}-of-${site}@example.com`;

async function fill({ site, serverKey }: TestSite): Promise<void> {
  const events: SentEvent[] = Array.from({ length: PERSONS }, (_, person) =>
    idsOf(person).map((id) => {
      const properties = { email: emailOf(site, person), value: 1, currency: 'EUR' };
      return newEvent({ event: 'purchase', distinct_id: `${site}-${id}`, properties });
    }),
  ).flat();
  events.push(newEvent({ distinct_id: 'shared-by-both-sites-y' }));
  for (let at = 0; at < events.length; at += EVENTS_PER_REQUEST) {
    const some = events.slice(at, at + EVENTS_PER_REQUEST);
    // What is sent once more counts once.
    await until(
      'the events are accepted',
      async () => (await postEvents(edge, serverKey, some)).status,
      (status) => status === 200,
    );
  }
}

const ALL = PERSONS * EVENTS_EACH + 1;

beforeAll(async () => {
  // So that there are dead letters of both sites too.
  receiver = await startWebhookReceiver((body) => (/-of-\d*7-y/.test(body) ? 413 : 200));
  gone = await makeSite(service, { webhookUrl: receiver.url });
  stays = await makeSite(service, { webhookUrl: receiver.url });
  await gone.settings.run('site', 'set', gone.site, '--block', `distinct_id=${MARK}`);
  await fill(gone);
  await fill(stays);
  for (const { site } of [gone, stays]) {
    await until(
      'all rows',
      () => rowsOf(site),
      (rows) => rows === ALL,
      { timeoutMs: LONG_MS },
    );
  }
  for (const { site } of [gone, stays]) {
    const outcomes = async (): Promise<number> => (await countsOf(site))['delivery_outcomes'] ?? 0;
    await until('all outcomes', outcomes, (count) => count >= ALL, { timeoutMs: LONG_MS });
  }
}, LONG_MS);
afterAll(async () => {
  await stays.close();
  await gone.close();
  await receiver.close();
});

/** Each with how its rows are read as they are once merged. */
const TABLES = { event_rows: 'FINAL', delivery_outcomes: '', person_links: 'FINAL' };

async function countsOf(site: string): Promise<Record<string, number>> {
  const queries = Object.entries(TABLES).map(
    ([table, final]) =>
      `SELECT '${table}' AS name, toInt32(count()) AS rows FROM ${table} ${final} WHERE site_id = {site:String}`,
  );
  const rows = await select<{ name: string; rows: number }>(clickhouse, queries.join(' UNION ALL '), { site });
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
}
const rowsOf = async (site: string): Promise<number> => (await countsOf(site))['event_rows'] ?? 0;

const erasures = (): Promise<ErasureItem[]> => stays.settings.run<ErasureItem[]>('site', 'erasures');

/** Kills the process that erases when the erasure is first seen so far. */
async function killedAt(isThere: (one: ErasureItem | undefined) => boolean): Promise<void> {
  const before = await readyProcess(service, 'erasure');
  await until('the moment', async () => (await erasures()).find(({ site_id }) => site_id === gone.site), isThere, {
    timeoutMs: LONG_MS,
  });
  process.kill(before.pid, 'SIGKILL');
  await readyProcess(service, 'erasure', before);
}

test('a site is erased under load, though a stage stands still and the process is killed on the way', {
  timeout: LONG_MS,
}, async () => {
  const before = await countsOf(stays.site);
  let isOver = false;
  const statuses: number[] = [];
  const flow = async (): Promise<void> => {
    while (!isOver) {
      const some = Array.from({ length: 20 }, (_, at) => newEvent({ distinct_id: `late-of-gone-${at}-y` }));
      const { status } = await postEvents(edge, gone.serverKey, some);
      statuses.push(status);
      await sleep(50);
    }
  };
  const flowing = flow();
  const { pid } = await readyProcess(service, 'warehouse');
  process.kill(pid, 'SIGSTOP');
  try {
    await gone.settings.run('site', 'erase', gone.site, '--confirm', gone.site, '--detach');
    await killedAt((one) => one?.detail === 'waiting' || one?.phase === 'draining');
    await until('it waits for the warehouse', erasures, (all) => all.some(({ phase }) => phase === 'draining'), {
      timeoutMs: LONG_MS,
    });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await killedAt((one) => one?.phase === 'deleting' || one?.phase === 'done');
  const [receipt] = await until('the receipt', erasures, (all) => all.every(({ phase }) => phase === 'done'), {
    timeoutMs: LONG_MS,
  });
  isOver = true;
  await flowing;
  expect([statuses.includes(200), statuses.at(-1)]).toEqual([true, 403]);
  const found = Object.fromEntries((receipt?.erased ?? []).map(({ place, count }) => [place, count]));
  expect(found['event_rows']).toBeGreaterThanOrEqual(ALL);
  expect(found['identity.links']).toBeGreaterThan(0);
  expect(found['redis']).toBeGreaterThan(0);
  expect(receipt?.destinations).toMatchObject([{ name: 'webhook', state: 'by_hand' }]);
  expect(await countsOf(gone.site)).toEqual(Object.fromEntries(Object.keys(TABLES).map((table) => [table, 0])));
  // What waits to be delivered again has more outcomes by now.
  const { delivery_outcomes: outcomes = 0, ...rest } = await countsOf(stays.site);
  expect(rest).toEqual({ event_rows: before['event_rows'], person_links: before['person_links'] });
  expect(outcomes).toBeGreaterThanOrEqual(before['delivery_outcomes'] ?? 0);
});

test('neither a replay by force, dead letters nor indexes that are built anew bring it back', {
  timeout: LONG_MS,
}, async () => {
  const rows = await rowsOf(stays.site);
  const sent = receiver.deliveries.length;
  const droppedBy = async (name: string): Promise<number> => {
    const { metricsUrl } = await readyProcess(service, name);
    return total(await readMetrics(metricsUrl), 'svc_events_dropped_total', { reason: 'erased' });
  };
  const range = ['--from', '1h', '--to', 'now', '--destination', 'webhook', '--force', '--rate', '5000'];
  const replay = await stays.settings.run<ReplayItem>('replay', 'start', ...range);
  expect(replay.state).toBe('done');
  await stays.settings.run('dead', 'resend', '--all').catch(() => undefined);
  // What was not taken at once is sent again from the lanes of retries, and what was resent passes every stage.
  const arrived = (): string[] => receiver.deliveries.slice(sent).map(({ body }) => body);
  const all = await until('all that is sent again', arrived, (found) => found.length >= ALL, { timeoutMs: LONG_MS });
  const bodies = all.map((body) => JSON.parse(body) as { data: { site_id: string } });
  expect(new Set(bodies.map(({ data }) => data.site_id))).toEqual(new Set([stays.site]));
  const stages = await Promise.all(['dedup', 'identity', 'warehouse', 'delivery.webhook'].map(droppedBy));
  expect(stages.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);

  const client = new Redis(redis);
  try {
    await client.flushdb();
    await postEvents(edge, stays.serverKey, [newEvent({ distinct_id: 'after-the-loss-y' })]);
    await until(
      'the rebuilt indexes',
      () => rowsOf(stays.site),
      (now) => now === rows + 1,
      { timeoutMs: LONG_MS },
    );
    const keys = (await keysOf(client)).map(String).filter((key) => key.includes(gone.site));
    // Its account has the same name, and keeps its usage.
    expect(keys.filter((key) => !key.startsWith('q:'))).toEqual([]);
  } finally {
    client.disconnect();
  }
  expect(await rowsOf(gone.site)).toBe(0);
});

test('no id or hash of its visitors stands anywhere but where its days are stated, and none of its settings', {
  timeout: LONG_MS,
}, async () => {
  // What is made of ids is searched for a part of them, the ids themselves by how they begin.
  const persons = Array.from({ length: PERSONS / 10 }, (_, at) => at * 10);
  const texts = persons.flatMap((person) => {
    const sha256 = sha256Hex(emailOf(gone.site, person));
    const ids = idsOf(person).map((id) => `${gone.site}-${id}`);
    return [...ids.map((id) => basePersonId(gone.site, id)), sha256, nodeOf(secret, gone.site, 'email', sha256)];
  });
  texts.push(`${gone.site}-tablet-of-`, `${gone.site}-desk-of-`, 'late-of-gone-');
  texts.push(basePersonId(gone.site, 'shared-by-both-sites-y'));
  const compacted = ['identity.links', 'person.erasures'];
  const lower = texts.map((text) => text.toLowerCase());
  await expectGone({ service, partsDir, texts: lower, compacted, serverKey: stays.serverKey });
  await compactSoon(kafka, ['site.config']);
  const settings = async (): Promise<string[]> => {
    await stays.settings.run('site', 'set', stays.site, '--block', 'user_agent=Worse');
    await stays.settings.run('site', 'set', stays.site, '--unblock', 'user_agent=Worse');
    const records = await readTopics(kafka, ['site.config']);
    // What the audit says of changes stays as long as the audit, and its account, which has the same name.
    const stay = (key: string): boolean => key.startsWith('audit/') || key === `account/${gone.account}`;
    return records
      .filter(({ key, value }) => !stay(String(key)) && value?.includes(gone.site) === true)
      .map(({ key }) => String(key));
  };
  await until('compaction of the settings', settings, (keys) => keys.length === 0, CLEANED);
  const entries = await stays.settings.run<{ after: object }[]>('audit', 'list', '--of', `site/${gone.site}`);
  expect(entries.map(({ after }) => after)).toContainEqual(expect.objectContaining({ done: 'site.erase' }));
});
