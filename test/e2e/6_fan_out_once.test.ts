import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { settledUsage, storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge } = service.ready;

let receiver: WebhookReceiver;
let site: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { webhookUrl: `${receiver.url}/hook` });
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

/** What is counted of a site everywhere. */
async function everywhere(): Promise<{ rows: string[]; delivered: string[]; used: number }> {
  return {
    rows: (await storedIds(service, site.site)).sort(),
    delivered: deliveredIds(receiver).sort(),
    used: await settledUsage(service, site.account),
  };
}

const idsOf = (events: readonly SentEvent[]): string[] => events.map(({ uuid }) => uuid).sort();

test('the same event sent again and again is one row, one delivery and one unit of quota', async () => {
  const event = newEvent({ event: 'purchase', distinct_id: 'buyer' });
  const other = newEvent({ event: 'purchase', distinct_id: 'another buyer' });
  await postEvents(edge, site.serverKey, [event]);
  await postEvents(edge, site.serverKey, [event, event]);
  // A repetition may come by another visitor's partition, as its request is led by another event.
  await postEvents(edge, site.serverKey, [other, { ...event, distinct_id: 'buyer' }]);
  await Promise.all(Array.from({ length: 5 }, () => postEvents(edge, site.browserKey, [event])));
  await postEvents(edge, site.serverKey, [{ ...event, uuid: event.uuid.toUpperCase() }]);
  // What comes behind the repetitions on their partition shows that they have been dealt with.
  const last = [newEvent({ distinct_id: 'buyer' }), newEvent({ distinct_id: 'another buyer' })];
  for (const one of last) await postEvents(edge, site.serverKey, [one]);

  const ids = idsOf([event, other, ...last]);
  await until(
    'all events everywhere',
    everywhere,
    ({ rows, delivered, used }) => Math.min(rows.length, delivered.length, used) >= ids.length,
  );
  expect(await everywhere()).toEqual({ rows: ids, delivered: ids, used: ids.length });
});

test('the delivery is signed as Standard Webhooks has it', () => {
  const [delivery] = receiver.deliveries;
  if (delivery === undefined) throw new Error('nothing was delivered');
  expect(new Webhook(site.webhookSecret).verify(delivery.body, delivery.headers)).toMatchObject({
    type: 'event',
    data: { site_id: site.site },
  });
  expect(() => new Webhook(site.webhookSecret).verify(`${delivery.body} `, delivery.headers)).toThrow();
});
