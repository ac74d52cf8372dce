import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { settledUsage, storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { readEventIds } from '#test/harness/topic_events.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge, kafka } = service.ready;
const FLOW_MS = 4_000;
const KILL_AFTER_MS = 1_000;
const PAUSE_MS = 20;
const BATCH_EVENTS = 5;
/** A killed member's partitions are given away when its session has run out, ten seconds on. */
const SETTLED_MS = 60_000;

let receiver: WebhookReceiver;
let site: TestSite;
const sent: string[] = [];
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { webhookUrl: receiver.url });
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

/** Posts batches as a client does that keeps its events until they are accepted, with the same ids. */
async function flow(): Promise<void> {
  for (const endMs = performance.now() + FLOW_MS; performance.now() < endMs; await sleep(PAUSE_MS)) {
    const events = Array.from({ length: BATCH_EVENTS }, (_, index) =>
      newEvent({ distinct_id: `visitor-${sent.length + index}` }),
    );
    const accepted = (): Promise<boolean> =>
      postEvents(edge, site.serverKey, events).then(({ status, body }) => {
        expect([200, 503]).toContain(status);
        if (status === 200) expect(body).toEqual({ accepted: BATCH_EVENTS });
        return status === 200;
      });
    await until('accepted', accepted, (done) => done, { timeoutMs: 30_000 });
    sent.push(...events.map(({ uuid }) => uuid));
  }
}

/** How often each event came to the webhook, a repetition under the same webhook-id counted once. */
function deliveredOnce(): string[] {
  const byMessage = new Map(
    receiver.deliveries.map(({ headers, body }) => [
      headers['webhook-id'],
      (JSON.parse(body) as { data: { event_id: string } }).data.event_id,
    ]),
  );
  return [...byMessage.values()];
}

const PROCESSES = ['edge', 'control', 'dedup', 'quota', 'identity', 'warehouse', 'delivery.webhook'];

test.for(PROCESSES)(
  'kill -9 of %s while events flow: each is counted once everywhere',
  { timeout: 150_000 },
  async (name) => {
    const before = await readyProcess(service, name);
    const flowing = flow();
    await sleep(KILL_AFTER_MS);
    process.kill(before.pid, 'SIGKILL');
    await flowing;
    await readyProcess(service, name, before);

    const counts = async () => ({
      rows: (await storedIds(service, site.site)).length,
      delivered: deliveredOnce().length,
      used: await settledUsage(service, site.account),
    });
    const isDone = ({ rows, delivered, used }: Awaited<ReturnType<typeof counts>>): boolean =>
      Math.min(rows, delivered, used) >= sent.length;
    await until(`all ${sent.length} everywhere`, counts, isDone, { timeoutMs: SETTLED_MS });
    expect(await counts()).toEqual({ rows: sent.length, delivered: sent.length, used: sent.length });
    expect((await storedIds(service, site.site)).sort()).toEqual([...sent].sort());
    expect(deliveredOnce().sort()).toEqual([...sent].sort());
    // Only a delivery that died between the destination's yes and its own commit may send again.
    if (!name.startsWith('delivery')) expect(receiver.deliveries.length).toBe(deliveredOnce().length);
    else receiver.deliveries.splice(0, Number.POSITIVE_INFINITY, ...uniqueDeliveries());
  },
);

function uniqueDeliveries() {
  return [...new Map(receiver.deliveries.map((delivery) => [delivery.headers['webhook-id'], delivery])).values()];
}

test('the topics hold each event once for a reader of committed records', async () => {
  for (const topic of ['events.unique', 'events.identified']) {
    expect((await readEventIds(kafka, topic, site.site)).sort()).toEqual([...sent].sort());
  }
});
