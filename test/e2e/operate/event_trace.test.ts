import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge } = service.ready;
const WAIT_MS = 40_000;

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

test('an event that was posted twice is told whole, once it is delivered', { timeout: WAIT_MS * 2 }, async () => {
  const event = newEvent({ event: 'purchase', distinct_id: 'buyer', properties: { email: 'Buyer@shop.example' } });
  for (let time = 0; time < 2; time += 1) await postEvents(edge, site.serverKey, [event]);
  const show = () => site.settings.run<EventTrace>('event', 'show', site.site, event.uuid);
  const isDelivered = ({ row, duplicates, destinations }: EventTrace): boolean =>
    row !== null && duplicates.seen > 0 && destinations[0]?.state === 'delivered';
  const trace = await until('the event delivered', show, isDelivered, { timeoutMs: WAIT_MS });
  expect(trace).toMatchObject({
    event_id: event.uuid,
    accepted: { caller: 'server', key: { shown_prefix: site.serverKey.slice(0, 11) }, coordinate: { index: 0 } },
    row: { event: 'purchase', distinct_id: 'buyer' },
    rows_stored: 1,
    duplicates: { seen: 1, copies: [{ key: { shown_prefix: site.serverKey.slice(0, 11) }, times: 1 }] },
    destinations: [
      { destination: 'webhook', attempts: [{ attempt: 1, outcome: 'delivered', answer: { status: 200 } }] },
    ],
  });
  expect(trace.person?.person_id).toBe(trace.person?.distinct_person_id);
  expect(JSON.stringify(trace)).not.toContain(site.serverKey);
  expect(JSON.stringify(trace).toLowerCase()).not.toContain('buyer@shop');
});
