import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

interface Visitor {
  distinct_id: string;
  persons: string[];
  events: number;
}

function visitors(): Promise<Visitor[]> {
  const query = `SELECT distinct_id, groupUniqArray(person_id) AS persons, toInt32(count()) AS events
    FROM events WHERE site_id = {site:String} GROUP BY distinct_id ORDER BY distinct_id`;
  return select(clickhouse, query, { site: site.site });
}

test('two browsers and a till that name one e-mail address are one person, a third browser is not', async () => {
  const email = 'Jane.Doe@Example.com';
  const identify = (distinct_id: string, address: string) =>
    newEvent({ event: 'identify', distinct_id, properties: { email: address } });
  const requests = [
    [newEvent({ distinct_id: 'laptop' }), newEvent({ distinct_id: 'phone' }), newEvent({ distinct_id: 'stranger' })],
    [identify('laptop', email)],
    [identify('phone', ` ${email.toLowerCase()} `)],
    [identify('stranger', 'john@example.com')],
    [newEvent({ event: 'purchase', distinct_id: 'till', properties: { email, $action_source: 'physical_store' } })],
  ];
  for (const events of requests) {
    expect(await postEvents(edge, site.serverKey, events)).toMatchObject({ body: { accepted: events.length } });
  }
  const isJoined = (seen: Visitor[]): boolean => {
    const persons = new Map(seen.map(({ distinct_id, persons: all }) => [distinct_id, all.join()]));
    return (
      seen.length === 4 &&
      seen.reduce((sum, { events }) => sum + events, 0) === requests.flat().length &&
      persons.get('laptop') === persons.get('phone') &&
      persons.get('laptop') === persons.get('till')
    );
  };
  const seen = await until('one person', visitors, isJoined);
  expect(seen.map(({ distinct_id, events, persons }) => [distinct_id, events, persons.length])).toEqual([
    ['laptop', 2, 1],
    ['phone', 2, 1],
    ['stranger', 2, 1],
    ['till', 1, 1],
  ]);
  expect(new Set(seen.map(({ persons }) => persons[0])).size).toBe(2);
});
