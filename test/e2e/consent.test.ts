import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const ORIGIN = 'https://shop.example';
const MEASUREMENT_ID = `G-${randomBytes(5).toString('hex').toUpperCase()}`;
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

let site: TestSite;
beforeAll(async () => {
  const defaults = ['--consent-default', 'EEA=denied', '--consent-default', 'else=granted'];
  site = await makeSite(service, { browserKeyWords: ['--origin', ORIGIN], siteWords: defaults });
  const { settings, browserKey } = site;
  const pixel = ['--site', site.site, '--set', 'pixel_id=123456789012345', '--secret', 'access_token=x'];
  await settings.run('destination', 'create', 'meta', ...pixel);
  const property = ['--site', site.site, '--set', `measurement_id=${MEASUREMENT_ID}`, '--secret', 'api_secret=x'];
  await settings.run('destination', 'create', 'ga4', ...property, '--disabled');
  await until(
    'the edge knows both',
    async () => {
      const config = await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': browserKey } });
      return (await config.text()).includes('123456789012345') ? (await hit('en=')).status : 0;
    },
    (status) => status === 204,
  );
});
afterAll(() => site.close());

const hit = (query: string): Promise<Response> =>
  fetch(`${edge}/g/collect?v=2&tid=${MEASUREMENT_ID}&cid=1.2&sid=1732000000&_p=1&${query}`, {
    headers: { origin: ORIGIN, 'user-agent': CHROME },
  });

async function segment(context: object): Promise<void> {
  const event = { type: 'track', event: 'segment', userId: 'u', messageId: randomUUID(), context };
  const response = await fetch(`${edge}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${site.serverKey}:`)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ batch: [event] }),
  });
  expect(response.status).toBe(200);
}

const COLUMNS = 'ad_storage, analytics_storage, ad_user_data, ad_personalization, consent_defaults, limited_data_use';
const STATED = `SELECT event, ${COLUMNS} FROM events WHERE site_id = {site:String} ORDER BY event`;
const OUTCOMES = `SELECT event, reason FROM delivery_outcomes
WHERE site_id = {site:String} AND destination = 'meta' AND outcome = 'skipped' ORDER BY event`;

test('whoever says it, consent stands in columns, and is what decides deliveries', async () => {
  const events = [
    newEvent({ event: 'default_denied', properties: { country: 'AT' } }),
    newEvent({ event: 'default_granted', properties: { country: 'US', us_privacy: '1YYN' } }),
    newEvent({ event: 'said', properties: { country: 'AT', consent: { ad_user_data: 'denied' } } }),
  ];
  expect((await postEvents(edge, site.serverKey, events)).status).toBe(200);
  const ofTag = newEvent({ event: 'tag', properties: { $consent: { ads: false, analytics: true } } });
  const headers = { origin: ORIGIN, 'user-agent': CHROME };
  expect((await postBody(edge, site.browserKey, JSON.stringify({ events: [ofTag] }), headers)).status).toBe(200);
  expect((await hit('_s=1&en=gtag&gcs=G111&gcd=13r3r3m2m5l1')).status).toBe(204);
  await segment({ consent: { categoryPreferences: { Advertising: false, Analytics: true } } });

  const row = (event: string, states: string, consent_defaults = '', limited_data_use = false) => {
    const [ad_storage, analytics_storage, ad_user_data, ad_personalization] = states
      .split(' ')
      .map((state) => ({ g: 'granted', d: 'denied' })[state]);
    const types = { ad_storage, analytics_storage, ad_user_data, ad_personalization };
    return { event, ...types, consent_defaults, limited_data_use };
  };
  const all = 'ad_storage,analytics_storage,ad_user_data,ad_personalization';
  const wanted = [
    row('default_denied', 'd d d d', all),
    row('default_granted', 'g g g g', all, true),
    row('gtag', 'g g d d'),
    row('said', 'd d d d', 'ad_storage,analytics_storage,ad_personalization'),
    row('segment', 'd g d d'),
    row('tag', 'd g d d'),
  ];
  const ask =
    <Row>(statement: string) =>
    () =>
      select<Row>(clickhouse, statement, { site: site.site });
  const full = { timeoutMs: 15_000 };
  const rows = await until('the rows', ask<object>(STATED), (found) => found.length === wanted.length, full);
  expect(rows).toEqual(wanted);
  const refused = [
    ['default_denied', 'consent_denied_by_default'],
    ['default_granted', 'insufficient_user_data'],
    ...['gtag', 'said', 'segment', 'tag'].map((event) => [event, 'consent_denied']),
  ];
  const outcomes = ask<{ event: string; reason: string }>(OUTCOMES);
  const skipped = await until('the skipped', outcomes, (found) => found.length === refused.length, full);
  expect(skipped.map(({ event, reason }) => [event, reason])).toEqual(refused);
});
