import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postBody, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge } = service.ready;
const RULES = [
  'ip=203.0.113.9',
  'ip=198.51.100.0/24',
  'user_agent=ScraperApp',
  'country=KP',
  'event=internal_test',
  'distinct_id=tester-7',
  'property:environment=staging',
];

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: RULES.flatMap((rule) => ['--block', rule]) });
});
afterAll(() => site.close());

const send = (events: readonly SentEvent[], headers: Record<string, string> = {}) =>
  postBody(edge, site.serverKey, JSON.stringify({ events }), headers);

const BLOCKED: [rule: string, event: Partial<SentEvent>][] = [
  ['an address', { properties: { client_ip_address: '203.0.113.9' } }],
  ['a range', { properties: { client_ip_address: '198.51.100.77' } }],
  ['a user agent', { properties: { client_user_agent: 'ScraperApp/3' } }],
  ['a country', { properties: { country: 'kp' } }],
  ['an event name', { event: 'internal_test' }],
  ['a distinct_id', { distinct_id: 'tester-7' }],
  ['a property', { properties: { environment: 'staging' } }],
];
const PASSING: Partial<SentEvent>[] = [
  { properties: { client_ip_address: '203.0.113.10' } },
  { properties: { client_user_agent: 'ShopApp/3' } },
  { properties: { environment: 'production', country: 'be' } },
  { event: 'internal_tests', distinct_id: 'tester-77' },
];

test.for(BLOCKED)('what %s blocks is answered with accepted 0 and no error', async ([, event]) => {
  expect(await send([newEvent(event)])).toMatchObject({ status: 200, body: { accepted: 0 } });
});

test('of a mixed batch what is taken is counted and stored, and nothing else', async () => {
  const passing = PASSING.map(newEvent);
  const bad = { ...newEvent(), event: '' };
  const answer = await send([...BLOCKED.map(([, event]) => newEvent(event)), ...passing, bad]);
  const index = BLOCKED.length + passing.length;
  expect(answer).toMatchObject({ status: 200, body: { accepted: passing.length, rejected: [{ index }] } });
  await untilStored(service, site.site, passing.length);
  expect((await storedIds(service, site.site)).sort()).toEqual(passing.map(({ uuid }) => uuid).sort());
});

test('robots and prefetches are answered with accepted 0', async () => {
  const robot = { 'user-agent': 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)' };
  for (const headers of [robot, { 'sec-purpose': 'prefetch' }]) {
    expect(await send([newEvent()], headers)).toMatchObject({ status: 200, body: { accepted: 0 } });
  }
});
