import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge } = service.ready;
const QUERYABLE_MS = 3_000;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

test('an accepted event is a row in ClickHouse within 3 s', async () => {
  const event = newEvent({
    event: 'purchase',
    distinct_id: 'me',
    properties: { value: 12.5, currency: 'eur', order_id: 'A-1' },
  });
  expect(await postEvents(edge, site.serverKey, [event])).toMatchObject({ status: 200, body: { accepted: 1 } });
  await untilStored(service, site.site, 1, QUERYABLE_MS);
  const query = `SELECT event_id, event, distinct_id, value, currency, order_id, action_source, caller, mode
    FROM events WHERE site_id = {site:String}`;
  expect(await select(service.ready.clickhouse, query, { site: site.site })).toEqual([
    {
      event_id: event.uuid,
      event: 'purchase',
      distinct_id: 'me',
      value: 12.5,
      currency: 'EUR',
      order_id: 'A-1',
      action_source: 'website',
      caller: 'server',
      mode: 'online',
    },
  ]);
});
