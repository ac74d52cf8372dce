import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const BLOCKED_IP = '203.0.113.9';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--block', `ip=${BLOCKED_IP}`] });
});
afterAll(() => site.close());

test('an accepted event is a row in ClickHouse', async () => {
  const properties = { value: 12.5, currency: 'eur', order_id: 'A-1', $action_source: 'physical_store' };
  const event = newEvent({ event: 'purchase', distinct_id: 'me', properties });
  expect(await postEvents(edge, site.serverKey, [event])).toMatchObject({ status: 200, body: { accepted: 1 } });
  await untilStored(service, site.site, 1);
  const query = `SELECT event_id, event, distinct_id, value, currency, order_id, action_source, caller, mode
    FROM events WHERE site_id = {site:String}`;
  expect(await select(clickhouse, query, { site: site.site })).toEqual([
    {
      event_id: event.uuid,
      event: 'purchase',
      distinct_id: 'me',
      value: 12.5,
      currency: 'EUR',
      order_id: 'A-1',
      action_source: 'physical_store',
      caller: 'server',
      mode: 'online',
    },
  ]);
});

test('of a partly bad batch the good events are stored and the bad ones named', async () => {
  const good = [newEvent(), newEvent()];
  const sent = [good[0], { ...newEvent(), event: '' }, good[1], { ...newEvent(), timestamp: 'yesterday' }];
  expect(await postEvents(edge, site.serverKey, sent)).toMatchObject({
    status: 200,
    body: {
      accepted: 2,
      rejected: [
        { index: 1, code: expect.stringMatching(/^event_name_/), message: expect.any(String) },
        { index: 3, code: 'timestamp_invalid', message: expect.any(String) },
      ],
    },
  });
  const before = 1;
  await untilStored(service, site.site, before + good.length);
  expect(await storedIds(service, site.site)).toEqual(expect.arrayContaining(good.map(({ uuid }) => uuid)));
});

test('a batch without any good event gets 400 and the list', async () => {
  const sent = [{ ...newEvent(), properties: { $action_source: 'carrier_pigeon' } }, 'no event'];
  expect(await postEvents(edge, site.serverKey, sent)).toMatchObject({
    status: 400,
    body: {
      error: { code: 'events_rejected', message: expect.any(String) },
      rejected: [
        { index: 0, code: 'action_source_unknown' },
        { index: 1, code: 'event_not_object' },
      ],
    },
  });
});

test('a robot and what the site blocks are answered with accepted 0', async () => {
  const robot = await postBody(edge, site.browserKey, JSON.stringify({ events: [newEvent()] }), {
    'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  });
  expect(robot).toMatchObject({ status: 200, body: { accepted: 0 } });
  const blocked = newEvent({ properties: { client_ip_address: BLOCKED_IP } });
  expect(await postEvents(edge, site.serverKey, [blocked])).toMatchObject({ status: 200, body: { accepted: 0 } });
});
