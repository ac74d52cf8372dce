import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlClient, createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { HealthItem } from '#services/control_api/destinations.ts';
import type { DeadLetterDetails, DeadLetterItem, ReplayItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
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
let other: TestSite;
let operator: ControlClient;
/** Another person at the same site. */
let colleague: ControlClient;
beforeAll(async () => {
  receiver = await startWebhookReceiver(refusing(refused));
  site = await makeSite(service, { webhookUrl: receiver.url });
  other = await makeSite(service, { webhookUrl: receiver.url });
  operator = await operatorOf(site.site, 'operator');
  colleague = await operatorOf(site.site, 'colleague');
  await takesOne(site);
  await takesOne(other);
});
afterAll(async () => {
  await Promise.all([site.close(), other.close()]);
  await receiver.close();
});

/** Who may operate a site, and nothing else. */
async function operatorOf(siteId: string, label: string): Promise<ControlClient> {
  const words = [`${label}-${siteId}`, '--grant', `operator@site/${siteId}`];
  const { secret } = await site.settings.run<{ secret: string }>('token', 'create', ...words);
  return createControlClient(httpTransport(service.ready.control), secret);
}

/** What a webhook that has taken nothing yet refuses may be meant for its settings: its first event it takes. */
async function takesOne(to: TestSite): Promise<void> {
  const event = newEvent();
  expect((await postEvents(edge, to.serverKey, [event])).status).toBe(200);
  await until(
    'the first event',
    async () => countOf(event.uuid),
    (count) => count === 1,
    { timeoutMs: WAIT_MS },
  );
}

async function send(to: TestSite, number: number): Promise<string[]> {
  const events = Array.from({ length: number }, (): SentEvent => newEvent({ event: 'sign_up', distinct_id: 'bo' }));
  const ids = events.map(({ uuid }) => uuid);
  for (const id of ids) refused.add(id);
  expect((await postEvents(edge, to.serverKey, events)).status).toBe(200);
  return ids;
}

/** Of all pages: one that looked at other sites' letters only is empty. */
const listed = (query: Record<string, string>): Promise<DeadLetterItem[]> =>
  operator.list<DeadLetterItem>('/dead-letters', query);
const openOnes = (): Promise<DeadLetterItem[]> => listed({ state: 'open', site_id: site.site });
const health = async (): Promise<HealthItem | undefined> =>
  (await operator.get<{ items: HealthItem[] }>('/delivery-health', { site_id: site.site })).items[0];

async function resendAs(who: ControlClient, ids: string[]): Promise<string[]> {
  const body = { ids };
  const answer = await who.send<ResendAnswer>('POST', '/dead-letters/resend', null, body);
  return answer.items.map(({ outcome }) => outcome);
}

const resend = (...ids: string[]): Promise<string[]> => resendAs(operator, ids);

const countOf = (id: string): number => deliveredIds(receiver).filter((one) => one === id).length;

test('an operator sees what their webhook refused, sends one and then, with a colleague at once, all, each once, and the loss is over', {
  timeout: TEST_MS,
}, async () => {
  const ids = await send(site, 4);
  const [foreign = ''] = await send(other, 1);
  const deadLetters = await until('the letters', openOnes, (found) => found.length === 4, { timeoutMs: WAIT_MS });
  await until(
    'the letter of the other site',
    async () => countOf(foreign),
    (count) => count === 1,
  );
  expect(deadLetters.map(({ event }) => event?.event_id ?? '').sort()).toEqual([...ids].sort());
  for (const deadLetter of deadLetters) {
    const of = { stage: 'delivery', destination: 'webhook', reason: 'http_400', site_ids: [site.site] };
    expect(deadLetter).toMatchObject({ ...of, event: { event: 'sign_up' }, resendable: true, cut: false });
  }
  // Those of other sites are as unknown as what there is not.
  expect((await listed({})).every(({ site_ids }) => site_ids.join() === site.site)).toBe(true);

  await until('what is lost', health, (found) => found?.failed === 4, { timeoutMs: WAIT_MS });
  const [first, ...rest] = deadLetters as [DeadLetterItem, ...DeadLetterItem[]];
  const opened = await operator.get<DeadLetterDetails>(`/dead-letters/${first.id}`);
  expect(opened).toMatchObject({
    delivery: 'dead',
    attempts: [{ attempt: 1, outcome: 'dead', reason: 'http_400', answer: { status: 400 } }],
  });

  refused.clear();
  expect(await resend(first.id)).toEqual(['resent']);
  expect(await resend(first.id)).toEqual(['resent_before']);
  const firstEvent = first.event?.event_id ?? '';
  await until(
    'the first one',
    async () => countOf(firstEvent),
    (count) => count === 2,
    { timeoutMs: WAIT_MS },
  );
  await until('its outcome', health, (found) => found?.failed === 3, { timeoutMs: WAIT_MS });
  expect(await operator.get(`/dead-letters/${first.id}`)).toMatchObject({ delivery: 'delivered', resendable: false });

  const all = [first, ...rest].map(({ id }) => id);
  const atOnce = await Promise.all([resendAs(operator, all), resendAs(colleague, all)]);
  const before = all.map(() => 'resent_before').join();
  expect(atOnce.map((outcomes) => outcomes.join())).toEqual(
    expect.arrayContaining([before, 'resent_before,resent,resent,resent']),
  );
  await until(
    'all of them',
    async () => ids.map(countOf),
    (counts) => counts.every((count) => count === 2),
    {
      timeoutMs: WAIT_MS,
    },
  );
  await until('no loss', health, (found) => found?.failed === 0, { timeoutMs: WAIT_MS });
  expect(await health()).toMatchObject({ dead: 4, delivered: 5, state: 'delivering' });
  expect(await openOnes()).toEqual([]);
  expect(countOf(foreign)).toBe(1);
});

test('what a replay has delivered is open no more and not sent by its letter, nor is what died twice sent twice', {
  timeout: 2 * TEST_MS,
}, async () => {
  receiver.deliveries.length = 0;
  const [id = ''] = await send(site, 1);
  await until('the letter', openOnes, (found) => found.length === 1, { timeoutMs: WAIT_MS });
  const replay = () =>
    site.settings.run<ReplayItem>(
      ...['replay', 'start', '--dead', '--from', '1h', '--to', 'now', '--destination', 'webhook', '--site', site.site],
    );
  expect(await replay()).toMatchObject({ state: 'done', chosen: 1 });
  const twice = await until('both letters', openOnes, (found) => found.length === 2, { timeoutMs: WAIT_MS });
  refused.clear();
  expect(await resend(...twice.map((one) => one.id))).toEqual(['resent', 'resent']);
  await until(
    'the event',
    async () => countOf(id),
    (count) => count === 3,
    { timeoutMs: WAIT_MS },
  );

  const [next = ''] = await send(site, 1);
  const [deadLetter] = await until('the letter', openOnes, (found) => found.length === 1, { timeoutMs: WAIT_MS });
  refused.clear();
  // All that was put right before is left out.
  expect(await replay()).toMatchObject({ state: 'done', chosen: 1 });
  await until('nothing open', openOnes, (found) => found.length === 0, { timeoutMs: WAIT_MS });
  expect(await resend(deadLetter?.id ?? '')).toEqual(['delivered']);
  expect([countOf(id), countOf(next)]).toEqual([3, 2]);
});
