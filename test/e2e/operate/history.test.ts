import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { runCommand, startCommand } from '#test/harness/command.ts';
import { newEvent, postBody, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const TEST_MS = 120_000;
const WAIT = { timeoutMs: 60_000 };

let receiver: WebhookReceiver;
let site: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { webhookUrl: receiver.url });
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

/** One in each of these months, as many as ClickHouse takes no more of in one block by itself. */
const MONTHS = 130;
const past = Array.from({ length: MONTHS }, (_, month): SentEvent => {
  const timestamp = new Date(Date.UTC(2012, month, 15, 12)).toISOString();
  return newEvent({ event: 'old_view', distinct_id: `visitor-${month % 7}`, timestamp });
});

const ROWS = 1_000;

/** As `historical_migration` of /v1/ingest. */
async function sendPast(events: readonly SentEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += 50) {
    const body = JSON.stringify({ historical_migration: true, events: events.slice(at, at + 50) });
    expect(await postBody(edge, site.serverKey, body)).toMatchObject({ status: 200 });
  }
}

const outcomes = (): Promise<{ outcome: string; reason: string; events: number }[]> =>
  select(
    clickhouse,
    `SELECT outcome, reason, toInt32(uniqExact(event_id)) AS events FROM delivery_outcomes
     WHERE site_id = {site:String} GROUP BY outcome, reason ORDER BY outcome`,
    { site: site.site },
  );

test('the past is measured at its own times, once, and goes to no destination, whoever asks for it', {
  timeout: TEST_MS,
}, async () => {
  await sendPast(past);
  const posthog = { event: 'old_view', distinct_id: 'p', uuid: newEvent().uuid, timestamp: '2019-05-04T03:02:01Z' };
  const batch = JSON.stringify({ api_key: site.serverKey, historical_migration: true, batch: [posthog] });
  expect((await fetch(`${edge}/batch/`, { method: 'POST', body: batch })).status).toBe(200);
  const now = newEvent({ event: 'purchase', distinct_id: 'visitor-1' });
  expect((await postEvents(edge, site.serverKey, [now])).status).toBe(200);
  await untilStored(service, site.site, MONTHS + 2);

  const answer = await site.settings.run<{ series: { events: number; intervals: { events: number }[] }[] }>(
    ...['query', 'trends', site.site, '--set', 'series=[{"events":["old_view"]}]'],
    ...['--interval', 'month', '--since', '2019-01-01', '--until', '2020-01-01'],
  );
  const [{ events, intervals } = { events: 0, intervals: [] }] = answer.series;
  expect([events, intervals.map((one) => one.events)]).toEqual([13, [1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1]]);

  const told = [
    { outcome: 'delivered', reason: '', events: 1 },
    { outcome: 'skipped', reason: 'historical', events: MONTHS + 1 },
  ];
  await until('all outcomes', outcomes, (found) => found.length === 2 && found[1]?.events === MONTHS + 1, WAIT);
  expect(await outcomes()).toEqual(told);

  type Named = { event_id: string }[];
  expect((await site.settings.run<{ events: Named }>('live', site.site)).events).toMatchObject([
    { event_id: now.uuid },
  ]);
  const preview = ['destination', 'preview', 'webhook', '--site', site.site];
  const previewed = await site.settings.run<(Named[0] & { skipped: string })[]>(...preview);
  expect(previewed.filter(({ event_id }) => event_id !== now.uuid).map(({ skipped }) => skipped)).toEqual(
    Array.from({ length: previewed.length - 1 }, () => 'historical'),
  );

  const range = ['--from', '1h', '--to', 'now', '--site', site.site, '--destination', 'webhook', '--force'];
  const { replay_id: id } = await site.settings.run<{ replay_id: string }>('replay', 'start', ...range);
  const show = () => site.settings.run<{ state: string; seen: number }>('replay', 'show', id);
  await until('the replay', show, ({ state }) => state === 'done', WAIT);
  const twice = (ids: string[]): boolean => ids.length >= 2;
  expect(await until('the replayed', async () => deliveredIds(receiver), twice, WAIT)).toEqual([now.uuid, now.uuid]);

  await sendPast(past.slice(0, 20));
  const later = newEvent({ event: 'purchase', distinct_id: 'visitor-1' });
  expect((await postEvents(edge, site.serverKey, [later])).status).toBe(200);
  await untilStored(service, site.site, MONTHS + 3);
  expect((await storedIds(service, site.site)).sort()).toEqual(
    [...past.map(({ uuid }) => uuid), posthog.uuid, now.uuid, later.uuid].sort(),
  );
  expect(new Set(deliveredIds(receiver))).not.toContain(posthog.uuid);
});

test('an export of PostHog’s that is killed in the middle goes on there, and counts once', {
  timeout: TEST_MS,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  const other = await makeSite(service);
  const path = join(folder, 'events.jsonl.gz');
  const rows = Array.from({ length: ROWS }, (_, at) => ({
    ...{ uuid: newEvent().uuid, event: '$pageview', distinct_id: `visitor-${at % 40}` },
    ...{ timestamp: new Date(Date.UTC(2019, 0, 1, at)).toISOString(), properties: JSON.stringify({ at }) },
  }));
  writeFileSync(path, gzipSync(rows.map((row) => JSON.stringify(row)).join('\n')));
  const words = ['import', 'history', path, '--site', other.site, '--format', 'posthog'];
  const environment = { LOCAL_DIR: service.dataDir, SVC_SERVER_KEY: other.serverKey };
  const rowsDone = (): number => {
    try {
      return (JSON.parse(readFileSync(`${path}.progress.json`, 'utf8')) as { counts: { rows: number } }).counts.rows;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
      throw error;
    }
  };
  const { child, ended } = startCommand('services/cli/main.ts', [...words, '--rate', '100'], environment);
  await until(
    'a part of the rows',
    async () => rowsDone(),
    (done) => done > 0,
    WAIT,
  );
  child.kill('SIGKILL');
  await ended;
  expect(rowsDone()).toBeLessThan(ROWS);
  const finished = await runCommand('services/cli/main.ts', words, environment);
  expect(finished).toMatchObject({ code: 0, output: expect.stringContaining('goes on behind row') });
  expect(await runCommand('services/cli/main.ts', [...words, '--again'], environment)).toMatchObject({ code: 0 });
  const last = newEvent();
  expect((await postEvents(edge, other.serverKey, [last])).status).toBe(200);
  await untilStored(service, other.site, ROWS + 1);
  expect((await storedIds(service, other.site)).sort()).toEqual([...rows.map(({ uuid }) => uuid), last.uuid].sort());
  await other.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Around the night in which clocks of Europe went forward: worked out by hand for each zone. */
const NIGHT = ['2024-03-30T23:30:00Z', '2024-03-31T03:30:00Z', '2024-03-31T18:20:00Z', '2024-03-31T22:30:00Z'];
const DAYS: [zone: string, views: Record<string, number>, gross: Record<string, number>][] = [
  ['Europe/Berlin', { '2024-03-31': 3, '2024-04-01': 1 }, { '2024-03-31': 70, '2024-04-01': 80 }],
  ['America/New_York', { '2024-03-30': 2, '2024-03-31': 2 }, { '2024-03-30': 30, '2024-03-31': 120 }],
  ['Asia/Kathmandu', { '2024-03-31': 2, '2024-04-01': 2 }, { '2024-03-31': 30, '2024-04-01': 120 }],
];

test('exports of two products, in the forms that they write, come to the figures that they had, by days of each zone', {
  timeout: TEST_MS,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  const other = await makeSite(service);
  const views = NIGHT.map((time, at) => ({
    ...{ uuid: newEvent().uuid, event: '$pageview', distinct_id: `visitor-${at % 2}`, team_id: 1, elements_chain: '' },
    ...{ timestamp: time.replace('T', ' ').replace('Z', '.000000+00:00'), set: '{}', set_once: '' },
    properties: JSON.stringify({
      $current_url: 'https://shop.example/',
      $lib: 'web',
      distinct_id: `visitor-${at % 2}`,
    }),
  }));
  const ga4 = (name: string, time: string, ecommerce: object, more: object[] = []) => ({
    ...{ event_name: name, event_timestamp: `${Date.parse(time)}000`, user_pseudo_id: `17.${time.length}`, items: [] },
    event_params: [{ key: 'currency', value: { string_value: 'EUR', int_value: null } }, ...more],
    ...{ ecommerce, user_id: null, privacy_info: { analytics_storage: 'Yes', ads_storage: 'No' } },
  });
  const sales = NIGHT.map((time, at) =>
    ga4('purchase', time, { transaction_id: `T${at}`, purchase_revenue: 10 * 2 ** at, refund_value: null }),
  );
  const back = ga4('refund', '2024-03-31T12:00:00Z', { transaction_id: 'T3', refund_value: 7.5 });
  const files = {
    posthog: join(folder, 'events.jsonl.gz'),
    ga4: join(folder, 'events_20240331.json'),
  };
  writeFileSync(files.posthog, gzipSync(`\uFEFF${views.map((row) => JSON.stringify(row)).join('\r\n')}`));
  writeFileSync(files.ga4, [...sales, back, sales[0]].map((row) => JSON.stringify(row)).join('\n'));
  const environment = { LOCAL_DIR: service.dataDir, SVC_SERVER_KEY: other.serverKey };
  for (const [format, path] of Object.entries(files)) {
    const words = ['import', 'history', path, '--site', other.site, '--format', format];
    expect(await runCommand('services/cli/main.ts', words, environment)).toMatchObject({ code: 0 });
  }
  await untilStored(service, other.site, views.length + sales.length + 2);

  const time = ['--interval', 'day', '--since', '2024-03-29', '--until', '2024-04-03'];
  type Days = { from: number; events: number; gross: number }[];
  for (const [zone, expectedViews, expectedGross] of DAYS) {
    const dayOf = new Intl.DateTimeFormat('sv-SE', { timeZone: zone });
    const byDay = (days: Days, name: 'events' | 'gross') =>
      Object.fromEntries(days.filter((day) => day[name] > 0).map((day) => [dayOf.format(day.from), day[name]]));
    const ask = <Answer>(kind: string, ...words: string[]) =>
      other.settings.run<Answer>('query', kind, other.site, ...words, ...time, '--zone', zone);
    const trend = await ask<{ series: { intervals: Days }[] }>('trends', '--set', 'series=[{"events":["$pageview"]}]');
    expect(byDay(trend.series[0]?.intervals ?? [], 'events')).toEqual(expectedViews);
    const told = await ask<{ currencies: { intervals: Days; refunds: number; net: number }[]; repeats: number }>(
      'revenue',
    );
    expect(byDay(told.currencies[0]?.intervals ?? [], 'gross')).toEqual(expectedGross);
    expect(told).toMatchObject({ currencies: [{ currency: 'EUR', refunds: 7.5, net: 142.5 }], repeats: 1 });
  }
  await other.close();
  rmSync(folder, { recursive: true, force: true });
});
