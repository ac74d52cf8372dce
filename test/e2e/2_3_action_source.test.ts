import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTION_SOURCES } from '#schemas/event.ts';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { settledUsage, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
/** As the specification lists them. */
const VALUES = ['physical_store', 'phone_call', 'chat', 'email', 'system_generated', 'website'];
const DAY_MS = 86_400_000;

let receiver: WebhookReceiver;
let site: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { webhookUrl: receiver.url });
  const events = VALUES.map((value) =>
    newEvent({
      event: 'sale',
      uuid: `sale-${value}`,
      distinct_id: `till-${value}`,
      properties: { $action_source: value },
    }),
  );
  const others = [
    newEvent({ event: 'browsed', uuid: 'no-source' }),
    newEvent({ event: 'sale', uuid: 'late', timestamp: new Date(Date.now() - 60 * DAY_MS).toISOString() }),
  ];
  expect(await postEvents(edge, site.serverKey, [...events, ...others])).toMatchObject({ body: { accepted: 8 } });
  await untilStored(service, site.site, events.length + others.length);
});
afterAll(async () => {
  await site.close();
  await receiver.close();
});

async function sourceOf(id: string): Promise<string | undefined> {
  const query = 'SELECT action_source FROM events WHERE site_id = {site:String} AND event_id = {id:String}';
  const rows = await select<{ action_source: string }>(clickhouse, query, { site: site.site, id });
  return rows[0]?.action_source;
}

test('these six there are, and no others', async () => {
  expect([...ACTION_SOURCES].sort()).toEqual([...VALUES].sort());
  for (const value of ['store', 'Physical_Store', '', 7, null, 'app']) {
    const answer = await postEvents(edge, site.serverKey, [newEvent({ properties: { $action_source: value } })]);
    const isAbsent = value === null;
    expect([value, answer.status]).toEqual([value, isAbsent ? 200 : 400]);
    if (!isAbsent) expect(answer.body).toMatchObject({ rejected: [{ code: 'action_source_unknown' }] });
  }
});

test.for(VALUES)('%s is stored as it is', async (value) => {
  expect(await sourceOf(`sale-${value}`)).toBe(value);
});

test('website is the default', async () => {
  expect(await sourceOf('no-source')).toBe('website');
});

test('offline events go to every destination with their source as it is, and count', async () => {
  const sourcesOf = (): Map<string, string> =>
    new Map(
      receiver.deliveries.map(({ body }) => {
        const { data } = JSON.parse(body) as { data: { event_id: string; action_source: string } };
        return [data.event_id, data.action_source];
      }),
    );
  await until('the deliveries', sourcesOf, (sources) => sources.size >= VALUES.length);
  for (const value of VALUES) expect(sourcesOf().get(`sale-${value}`)).toBe(value);
  await until(
    'the usage',
    () => settledUsage(service, site.account),
    (used) => used >= VALUES.length + 2,
  );
});

test('an offline event of any age up to two years is accepted and stored', async () => {
  expect(await sourceOf('late')).toBe('website');
});

test('an offline event may stitch, whatever its name; a browser’s only where its name says so', async () => {
  const query = 'SELECT event_id, identify FROM events WHERE site_id = {site:String} ORDER BY event_id';
  const rows = await select<{ event_id: string; identify: boolean }>(clickhouse, query, { site: site.site });
  const identifying = rows.filter(({ identify, event_id }) => identify && event_id.startsWith('sale-'));
  expect(identifying.map(({ event_id }) => event_id)).toEqual(
    VALUES.filter((value) => value !== 'website')
      .map((value) => `sale-${value}`)
      .sort(),
  );
});
