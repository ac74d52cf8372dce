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
