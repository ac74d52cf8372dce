import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--category', 'travel'] });
});
afterAll(() => site.close());

async function getConfig(headers: Record<string, string> = {}) {
  const response = await fetch(`${service.ready.edge}/v1/config`, {
    headers: { 'x-svc-key': site.browserKey, ...headers },
  });
  return readAnswer(response);
}

test('the configuration has every field, and no secret', async () => {
  const words = ['--site', site.site, '--set', 'pixel_id=123456789012345', '--secret', 'access_token=not-for-browsers'];
  await site.settings.run('destination', 'create', 'meta', ...words, '--disabled');
  const { status, body } = await getConfig();
  expect(status).toBe(200);
  expect(body).toEqual({
    mode: 'online',
    business_category: 'travel',
    clarity: null,
    facebook: null,
    tiktok: null,
    ga4: null,
    gtm: null,
    custom_loader: false,
    events: [],
    tag: {
      parts: [],
      engage: false,
      web_vitals: false,
      consent: { required: false, queue: true },
      respect_dnt: true,
      respect_gpc: true,
      inventory: true,
      hash_routes: false,
      loader: null,
      event_names: {},
    },
  });
});

test('an unchanged configuration is answered with 304', async () => {
  const { headers } = await getConfig();
  const etag = headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  expect(await getConfig({ 'if-none-match': etag })).toMatchObject({ status: 304, body: '' });
  expect(await getConfig({ 'if-none-match': '"another"' })).toMatchObject({ status: 200 });
});

test('a change is seen under another ETag', async () => {
  const etag = (await getConfig()).headers.get('etag') ?? '';
  await site.settings.run('destination', 'enable', 'meta', '--site', site.site);
  const { body } = await until(
    'the enabled pixel',
    () => getConfig({ 'if-none-match': etag }),
    ({ status }) => status === 200,
  );
  expect(body).toMatchObject({ facebook: { pixel_id: '123456789012345', route_pixels: [] } });
});
