import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, refusing, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge } = service.ready;
const TEST_MS = 90_000;
const WAIT_MS = 40_000;

/** Events that the receiver refuses for good. */
const refused = new Set<string>();
let receiver: WebhookReceiver;
let site: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver(refusing(refused));
  site = await makeSite(service, { webhookUrl: receiver.url });
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

async function send(number: number): Promise<string[]> {
  const events = Array.from({ length: number }, (_, index): SentEvent => newEvent({ distinct_id: `visitor-${index}` }));
  for (const event of events) expect((await postEvents(edge, site.serverKey, [event])).status).toBe(200);
  return events.map(({ uuid }) => uuid);
}

async function arrived(ids: readonly string[]): Promise<void> {
  const isThere = (seen: string[]): boolean => ids.every((id) => seen.includes(id));
  await until('events at the webhook', () => deliveredIds(receiver), isThere, { timeoutMs: WAIT_MS });
}

async function stored(ids: readonly string[]): Promise<void> {
  const rows = () => storedIds(service, site.site);
  await until('events in ClickHouse', rows, (seen) => ids.every((id) => seen.includes(id)), { timeoutMs: WAIT_MS });
}

const switchTo = (verb: 'enable' | 'disable') => site.settings.run('destination', verb, 'webhook', '--site', site.site);

function replay(...words: string[]): Promise<ReplayItem> {
  const range = ['--from', '1h', '--to', 'now', '--site', site.site, '--destination', 'webhook'];
  return site.settings.run<ReplayItem>('replay', 'start', ...range, ...words);
}

const show = (id: string): Promise<ReplayItem> => site.settings.run<ReplayItem>('replay', 'show', id);

/** Sends events while the destination is switched off, so that it never hears of them. */
async function missed(number: number): Promise<string[]> {
  await switchTo('disable');
  // A delivery process learns of it within milliseconds; nothing can be asked for it.
  await sleep(1_000);
  const ids = await send(number);
  await stored(ids);
  await sleep(1_000);
  await switchTo('enable');
  await sleep(1_000);
  return ids;
}

const all: string[] = [];

test('a replay of the last hour brings exactly what the destination has not', { timeout: TEST_MS }, async () => {
  const before = await send(10);
  await arrived(before);
  const between = await missed(15);
  const after = await send(5);
  await arrived(after);
  all.push(...before, ...between, ...after);
  expect(deliveredIds(receiver).sort()).toEqual([...before, ...after].sort());

  const counted = await replay('--dry-run');
  expect(counted).toMatchObject({ state: 'done', seen: 30, delivered: 15, to_send: 15, chosen: 15, dry_run: true });
  expect(deliveredIds(receiver)).toHaveLength(15);

  expect(await replay()).toMatchObject({ state: 'done', seen: 30, delivered: 15, pending: 0, chosen: 15 });
  await arrived(between);
  expect(await replay()).toMatchObject({ state: 'done', seen: 30, delivered: 30, chosen: 0 });
  expect(deliveredIds(receiver).sort()).toEqual([...all].sort());
});

test('dead letters go again when their cause is gone, each once', { timeout: TEST_MS }, async () => {
  receiver.deliveries.length = 0;
  const [ill, ...well] = await missed(6);
  refused.add(ill ?? '');
  await replay();
  await arrived(well);
  await until(
    'refused',
    () => deliveredIds(receiver),
    (ids) => ids.includes(ill ?? ''),
  );
  // Refused once more, so that two letters are about one event.
  expect(await replay('--dead')).toMatchObject({ state: 'done', chosen: 1 });
  refused.clear();
  receiver.deliveries.length = 0;
  expect(await replay('--dead')).toMatchObject({ state: 'done', chosen: 1 });
  expect(await replay('--dead')).toMatchObject({ state: 'done', chosen: 0, delivered: 1 });
  expect(deliveredIds(receiver)).toEqual([ill]);
});

test('paused, resumed, killed and cancelled: nothing comes twice', { timeout: 2 * TEST_MS }, async () => {
  receiver.deliveries.length = 0;
  const ids = await missed(40);
  const { replay_id: id } = await replay('--rate', '5', '--detach');
  const state = (wanted: (seen: ReplayItem) => boolean) =>
    until('the replay', () => show(id), wanted, { timeoutMs: WAIT_MS });
  await state(({ state, chosen }) => state === 'sending' && chosen >= 5);
  await site.settings.run('replay', 'pause', id);
  await state(({ state }) => state === 'paused');
  await sleep(1_000);
  const { chosen } = await show(id);
  await sleep(1_500);
  expect(await show(id)).toMatchObject({ state: 'paused', chosen });
  await site.settings.run('replay', 'resume', id);
  await state((seen) => seen.chosen > chosen);
  const before = await readyProcess(service, 'replay');
  process.kill(before.pid, 'SIGKILL');
  await readyProcess(service, 'replay', before);
  await state((seen) => seen.state === 'done');
  expect(await show(id)).toMatchObject({ chosen: 40, to_send: 40 });
  await arrived(ids);
  expect(deliveredIds(receiver).sort()).toEqual([...ids].sort());

  const more = await missed(20);
  const { replay_id: other } = await replay('--rate', '2', '--detach');
  await until(
    'the replay',
    () => show(other),
    (seen) => seen.chosen > 0,
    { timeoutMs: WAIT_MS },
  );
  await site.settings.run('replay', 'cancel', other);
  const last = await until(
    'cancelled',
    () => show(other),
    ({ updated_at }) => updated_at !== null,
  );
  expect(last.state).toBe('cancelled');
  await sleep(2_000);
  expect(deliveredIds(receiver).length).toBeLessThan(ids.length + more.length);
  await replay();
  await arrived(more);
  expect(deliveredIds(receiver).sort()).toEqual([...ids, ...more].sort());
});
