import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { HealthItem, PreviewItem } from '#services/control_api/destinations.ts';
import type { DeadLetterItem, ReplayItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const TEST_MS = 120_000;
const WAIT = { timeoutMs: 60_000 };

/** What the second webhook answers. */
let crmStatus = 200;
let shop: WebhookReceiver;
let crm: WebhookReceiver;
let site: TestSite;
beforeAll(async () => {
  shop = await startWebhookReceiver();
  crm = await startWebhookReceiver(() => crmStatus);
  site = await makeSite(service, { webhookUrl: shop.url });
  const words = ['--site', site.site, '--set', `url=${crm.url}`, '--secret', `secret=${site.webhookSecret}`];
  await site.settings.run('destination', 'create', 'webhook-crm', ...words);
});
afterAll(async () => {
  await site.close();
  await Promise.all([shop.close(), crm.close()]);
});

async function send(): Promise<string> {
  const event = newEvent({ event: 'sign_up', distinct_id: 'bo' });
  expect((await postEvents(service.ready.edge, site.serverKey, [event])).status).toBe(200);
  return event.uuid;
}
const countOf = (receiver: WebhookReceiver, id: string): number =>
  deliveredIds(receiver).filter((one) => one === id).length;
const got = (receiver: WebhookReceiver, id: string, times: number) =>
  until(
    'the event',
    async () => countOf(receiver, id),
    (count) => count === times,
    WAIT,
  );

test('two webhooks of a site get each event once; one that fails is retried, given up, resent and replayed by itself', {
  timeout: TEST_MS,
}, async () => {
  const { secret } = await site.settings.run<{ secret: string }>(
    ...['token', 'create', `operator-${site.site}`, '--grant', `operator@site/${site.site}`],
  );
  const operator = createControlClient(httpTransport(service.ready.control), secret);
  const health = async (): Promise<Map<string, HealthItem>> => {
    const { items } = await operator.get<{ items: HealthItem[] }>('/delivery-health', { site_id: site.site });
    return new Map(items.map((item) => [item.destination, item]));
  };
  const first = await send();
  await Promise.all([got(shop, first, 1), got(crm, first, 1)]);

  crmStatus = 500;
  const retried = await send();
  await got(shop, retried, 1);
  await until(
    'a call that failed',
    async () => countOf(crm, retried),
    (count) => count > 0,
    WAIT,
  );
  crmStatus = 200;
  await until('the retry', health, (items) => items.get('webhook-crm')?.delivered === 2, WAIT);

  crmStatus = 400;
  const dead = await send();
  await got(shop, dead, 1);
  const query = { state: 'open', site_id: site.site };
  const [letter] = await until(
    'the dead letter',
    () => operator.list<DeadLetterItem>('/dead-letters', query),
    (found) => found.length === 1,
    WAIT,
  );
  expect(letter).toMatchObject({ destination: 'webhook-crm', event: { event_id: dead } });
  const known = await until('its outcomes', health, (items) => items.get('webhook')?.delivered === 3, WAIT);
  expect(known.get('webhook')).toMatchObject({ state: 'delivering', dead: 0 });

  crmStatus = 200;
  const before = countOf(crm, dead);
  const resent = await operator.send<ResendAnswer>('POST', '/dead-letters/resend', null, { ids: [letter?.id ?? ''] });
  expect(resent.items).toMatchObject([{ outcome: 'resent' }]);
  await got(crm, dead, before + 1);

  const replayed = await site.settings.run<ReplayItem>(
    ...[
      'replay',
      'start',
      '--from',
      '1h',
      '--to',
      'now',
      '--destination',
      'webhook-crm',
      '--site',
      site.site,
      '--force',
    ],
  );
  expect(replayed).toMatchObject({ state: 'done', chosen: 3 });
  await got(crm, first, 2);
  // The other webhook got nothing of all that.
  expect([first, retried, dead].map((id) => countOf(shop, id))).toEqual([1, 1, 1]);
});

test('rules decide what one of them gets: previewed on the newest events, then in force, and counted as skips', {
  timeout: TEST_MS,
}, async () => {
  const { settings, site: siteId, serverKey } = site;
  const folder = await mkdtemp(join(tmpdir(), 'rules-'));
  const file = join(folder, 'rules.json');
  const rules = [
    { events: ['page_*'], send: false },
    { events: ['quiz_*'], rename_to: 'generate_lead', drop_properties: ['answers', 'email'] },
  ];
  await writeFile(file, JSON.stringify(rules));
  const events = () => [
    newEvent({ event: 'page_view', distinct_id: 'bo' }),
    newEvent({
      event: 'quiz_done',
      distinct_id: 'bo',
      properties: { score: 7, answers: [1], email: 'bo@shop.example' },
    }),
  ];
  const bodyOf = (receiver: WebhookReceiver, id: string): { data: Record<string, unknown> } | null => {
    const found = receiver.deliveries.find(({ body }) => body.includes(id));
    return found === undefined ? null : (JSON.parse(found.body) as { data: Record<string, unknown> });
  };
  const [view, quiz] = events();
  await postEvents(service.ready.edge, serverKey, [view, quiz] as SentEvent[]);
  await got(crm, quiz?.uuid ?? '', 1);
  expect(bodyOf(crm, quiz?.uuid ?? '')).toMatchObject({ data: { event: 'quiz_done', properties: { answers: [1] } } });
  const preview = await until(
    'the events in the preview',
    () => settings.run<PreviewItem[]>('destination', 'preview', 'webhook-crm', '--site', siteId, '--rules', file),
    (items) => items.some(({ event_id }) => event_id === quiz?.uuid),
    WAIT,
  );
  expect(preview.find(({ event_id }) => event_id === view?.uuid)).toMatchObject({ rule: 0, skipped: 'rule' });
  expect(preview.find(({ event_id }) => event_id === quiz?.uuid)).toMatchObject({
    ...{ rule: 1, sent_as: 'generate_lead', dropped: ['answers', 'email'] },
  });

  await settings.run('destination', 'set', 'webhook-crm', '--site', siteId, '--rules', file);
  const sent = await until(
    'the rules in force',
    async () => {
      const [, next] = events();
      await postEvents(service.ready.edge, serverKey, [next as SentEvent]);
      await got(crm, next?.uuid ?? '', 1);
      return next?.uuid ?? '';
    },
    (id) => bodyOf(crm, id)?.data['event'] === 'generate_lead',
    WAIT,
  );
  expect(bodyOf(crm, sent)).toMatchObject({ data: { properties: { score: 7 } } });
  expect(JSON.stringify(bodyOf(crm, sent))).not.toMatch(/answers|email_sha256/);
  await got(shop, sent, 1);
  expect(bodyOf(shop, sent)).toMatchObject({ data: { event: 'quiz_done', properties: { answers: [1] } } });

  const [skipped] = events();
  await postEvents(service.ready.edge, serverKey, [skipped as SentEvent]);
  await got(shop, skipped?.uuid ?? '', 1);
  const { secret } = await settings.run<{ secret: string }>('token', 'create', `reader-${siteId}`);
  const reader = createControlClient(httpTransport(service.ready.control), secret);
  await until(
    'the skip among the outcomes',
    () => reader.get<{ items: HealthItem[] }>('/delivery-health', { site_id: siteId, destination: 'webhook-crm' }),
    ({ items }) => (items[0]?.skipped['rule'] ?? 0) === 1,
    WAIT,
  );
  expect(countOf(crm, skipped?.uuid ?? '')).toBe(0);
  await rm(folder, { recursive: true });
});
