import { afterAll, beforeAll, expect, test } from 'vitest';
import { basePersonId } from '#pipelines/identity/identity.ts';
import type { SplitAnswer } from '#services/control_api/sites.ts';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;

let receiver: WebhookReceiver;
let site: TestSite;
let anonymousLimiter: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service);
  anonymousLimiter = await makeSite(service, { webhookUrl: receiver.url });
});
afterAll(async () => {
  await site.close();
  await anonymousLimiter.close();
  await receiver.close();
});

interface Visitor {
  distinct_id: string;
  persons: string[];
  events: number;
}

function visitors({ site: siteId }: TestSite = site): Promise<Visitor[]> {
  const query = `SELECT distinct_id, groupUniqArray(person_id) AS persons, toInt32(count()) AS events
    FROM events WHERE site_id = {site:String} GROUP BY distinct_id ORDER BY distinct_id`;
  return select(clickhouse, query, { site: siteId });
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
  const seen = await until('one person', () => visitors(), isJoined);
  expect(seen.map(({ distinct_id, events, persons }) => [distinct_id, events, persons.length])).toEqual([
    ['laptop', 2, 1],
    ['phone', 2, 1],
    ['stranger', 2, 1],
    ['till', 1, 1],
  ]);
  expect(new Set(seen.map(({ persons }) => persons[0])).size).toBe(2);
});

test('two customers whose shop sends undefined for the number of both are two persons, and nothing of one goes out with the other', async () => {
  const order = (distinct_id: string, properties: object) =>
    newEvent({ event: 'purchase', distinct_id, properties: { external_id: 'undefined', ...properties } });
  const identify = (distinct_id: string) =>
    newEvent({ event: '$identify', distinct_id, properties: { $anon_distinct_id: 'undefined' } });
  const requests = [
    [order('a', { email: 'a@a.example' })],
    [order('b', { phone: '+12025550143' })],
    [identify('a'), identify('b')],
  ];
  for (const events of requests) {
    expect(await postEvents(edge, anonymousLimiter.serverKey, events)).toMatchObject({
      body: { accepted: events.length },
    });
  }
  const isStored = (seen: Visitor[]) => seen.reduce((sum, { events }) => sum + events, 0) === requests.flat().length;
  const seen = await until('all rows', () => visitors(anonymousLimiter), isStored);
  expect(seen.map(({ distinct_id, persons }) => [distinct_id, persons.length])).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  expect(seen[0]?.persons).not.toEqual(seen[1]?.persons);

  const delivered = await until(
    'all deliveries',
    async () => receiver.deliveries.map(({ body }) => (JSON.parse(body) as { data: Delivered }).data),
    (all) => all.length === requests.flat().length,
  );
  const told = (visitor: string) =>
    delivered
      .filter(({ distinct_id }) => distinct_id === visitor)
      .flatMap(({ identifiers = {} }) => Object.keys(identifiers));
  expect(new Set(told('a'))).toEqual(new Set(['email_sha256']));
  expect(new Set(told('b'))).toEqual(new Set(['phone_sha256']));
});

test('two strangers whom a shared address made one are split: rows follow, none is lost or twice, and they stay apart', async () => {
  const family = await makeSite(service);
  const says = (distinct_id: string) =>
    newEvent({ event: 'purchase', distinct_id, properties: { email: 'family@example.com' } });
  const requests = [[says('ann')], [says('ben')], [newEvent({ distinct_id: 'ben' }), newEvent({ distinct_id: 'ann' })]];
  for (const events of requests) await postEvents(edge, family.serverKey, events);
  const areStored = (events: number) => (seen: Visitor[]) =>
    seen.reduce((sum, visitor) => sum + visitor.events, 0) === events;
  const joined = await until(
    'one person',
    () => visitors(family),
    (seen) => areStored(4)(seen) && new Set(seen.flatMap(({ persons }) => persons)).size === 1,
  );
  const person = String(joined[0]?.persons[0]);
  const [stays, moved] = basePersonId(family.site, 'ann') === person ? ['ann', 'ben'] : ['ben', 'ann'];
  const split = (...words: string[]) =>
    family.settings.run<SplitAnswer>('person', 'split', person, '--site', family.site, ...words);
  expect(await split('--distinct-id', moved, '--dry-run')).toMatchObject({ moved: 1, stayed: 1, is_done: false });
  expect(await visitors(family)).toEqual(joined);
  await expect(split('--distinct-id', stays)).rejects.toThrow(/oldest/);
  const done = await split('--distinct-id', moved);
  expect(done).toMatchObject({ person_id: person, new_person_id: basePersonId(family.site, moved), is_done: true });
  const ofBoth = { [stays]: [person], [moved]: [done.new_person_id] };
  const areApart = (seen: Visitor[]) =>
    seen.every(({ distinct_id, persons }) => String(persons) === String(ofBoth[distinct_id]));
  await until('two persons', () => visitors(family), areApart);
  await postEvents(edge, family.serverKey, [says('ann'), says('ben')]);
  // The link of the merge may be loaded after the rows were changed, and before that of the split.
  const after = await until(
    'later rows',
    () => visitors(family),
    (seen) => areStored(6)(seen) && areApart(seen),
  );
  expect(after.map(({ events }) => events)).toEqual([3, 3]);
  await family.close();
});

interface Delivered {
  distinct_id: string;
  identifiers?: object;
}
