import { afterAll, beforeAll, expect, test } from 'vitest';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { HealthItem } from '#services/control_api/destinations.ts';
import type { DeadLetterItem, ReplayItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
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
