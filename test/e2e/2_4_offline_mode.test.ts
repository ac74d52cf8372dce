import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--mode', 'offline'] });
});
afterAll(() => site.close());

test('of an offline site nothing is stored that says who it was', async () => {
  const personal = {
    email: 'jane@example.com',
    phone: '+16505550142',
    first_name: 'Jane',
    external_id: 'crm-1',
    city: 'Ghent',
    fbclid: 'IwAR0-click',
    client_ip_address: '203.0.113.7',
  };
  const properties = { ...personal, value: 3, currency: 'EUR', colour: 'green' };
  const event = newEvent({ event: 'purchase', distinct_id: 'customer-17', properties });
  await postEvents(edge, site.serverKey, [event]);
  await untilStored(service, site.site, 1);
  const [row] = await select<Record<string, unknown>>(
    clickhouse,
    'SELECT * FROM events WHERE site_id = {site:String}',
    {
      site: site.site,
    },
  );
  expect(row).toMatchObject({
    event_id: event.uuid,
    mode: 'offline',
    value: 3,
    distinct_id: expect.stringMatching(/^anon_/),
    identify: false,
    email_sha256: '',
    phone_hmac: '',
    first_name_sha256: '',
    external_id_sha256: '',
    city: '',
    client_ip: '',
    client_user_agent: '',
  });
  const kept = JSON.parse(String(row?.['properties']));
  expect(kept).toMatchObject({ colour: 'green' });
  expect(Object.keys(personal).filter((name) => name in kept)).toEqual([]);
  const text = JSON.stringify(row);
  expect(Object.values(personal).filter((value) => text.includes(value))).toEqual([]);
});
