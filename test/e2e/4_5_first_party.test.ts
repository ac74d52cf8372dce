import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type Reply } from '#test/harness/ask_host.ts';
import { newEvent, postEvents, readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { verifiedDomain } from '#test/harness/verified_domain.ts';

const service = sharedService();
const { edge } = service.ready;
const MEASUREMENT_ID = `G-${randomBytes(5).toString('hex').toUpperCase()}`;
const CONTAINER_ID = 'GTM-SHOP123';
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

let site: TestSite;
let domain: string;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--gtm', CONTAINER_ID] });
  domain = `t.${site.site}.example`;
  const words = ['--site', site.site, '--set', `measurement_id=${MEASUREMENT_ID}`, '--secret', 'api_secret=x'];
  await site.settings.run('destination', 'create', 'ga4', ...words, '--disabled');
  await verifiedDomain(service, site, domain);
});
afterAll(() => site.close());

const get = (path: string, host = domain): Promise<Reply> => ask(`${edge}${path}`, { host, 'user-agent': CHROME });

async function loaderOf(): Promise<{ base: string; prefix: string } | null> {
  const answer = await readAnswer(await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': site.browserKey } }));
  return (answer.body as { tag: { loader: { base: string; prefix: string } | null } }).tag.loader;
}

test('scripts of platforms come from a verified domain for the ids of its site, and from no other host', async () => {
  const { status, headers, text } = await get('/sx.js');
  expect([status, text]).toEqual([200, `/* script of /gtm.js?id=${CONTAINER_ID} */`]);
  expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
  expect(await get('/sx.js?id=GTM-OTHER12')).toMatchObject({ status: 404 });
  expect(await get('/sx.js', `www.${site.site}.example`)).toMatchObject({ status: 404 });
});

test('the prefix that the configuration says leads to the scripts too', async () => {
  await site.settings.run('domain', 'prefix', site.site);
  const loader = await until('the prefix', loaderOf, (seen) => seen !== null && seen.prefix !== '');
  expect(await get(`${loader?.prefix}/sx.js`)).toMatchObject({ status: 200 });
  expect(await get('/another/sx.js')).toMatchObject({ status: 404 });
});

test('a hit that came to the domain is one event with what the page sent under its id', async () => {
  const ids = [randomUUID(), randomUUID()];
  const hits = ids.map((id) => get(`/a/c?v=2&tid=${MEASUREMENT_ID}&cid=1.2&en=add_to_cart&ep.event_id=${id}`));
  expect((await Promise.all(hits)).map(({ status }) => status)).toEqual([204, 204]);
  const [first = ''] = ids;
  const repeated = newEvent({ uuid: first, event: 'add_to_cart', distinct_id: 'page' });
  // What comes behind it on its partition shows that the repetition has been dealt with.
  const last = newEvent({ distinct_id: 'page' });
  await postEvents(edge, site.browserKey, [repeated]);
  await postEvents(edge, site.browserKey, [last]);
  await untilStored(service, site.site, 3);
  expect((await storedIds(service, site.site)).sort()).toEqual([...ids, last.uuid].sort());
});

test('a hit of another site is refused', async () => {
  expect(await get('/a/c?v=2&tid=G-OTHER123&cid=1.2&en=a')).toMatchObject({ status: 403 });
});
