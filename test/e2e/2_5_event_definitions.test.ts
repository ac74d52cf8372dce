import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postEvents, readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { verifiedDomain } from '#test/harness/verified_domain.ts';

const service = sharedService();
const CATEGORIES = [
  'ecommerce_retail',
  'entertainment_media',
  'education',
  'real_estate',
  'technology',
  'financial_services',
  'automotive',
  'travel',
  'other',
];

let site: TestSite;
let folder: string;
beforeAll(async () => {
  site = await makeSite(service);
  folder = mkdtempSync(join(tmpdir(), 'definitions-'));
});
afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true });
});

async function config(): Promise<Record<string, unknown>> {
  const answer = await readAnswer(
    await fetch(`${service.ready.edge}/v1/config`, { headers: { 'x-svc-key': site.browserKey } }),
  );
  expect(answer.status).toBe(200);
  return answer.body as Record<string, unknown>;
}

/** Changes the site by words of the command line and waits until the configuration shows it. */
async function changed(words: string[], shows: Record<string, unknown>): Promise<void> {
  await site.settings.run('site', 'set', site.site, ...words);
  const wanted = JSON.stringify(shows);
  const picked = (seen: Record<string, unknown>): string =>
    JSON.stringify(Object.fromEntries(Object.keys(shows).map((name) => [name, seen[name]])));
  await until(wanted, config, (seen) => picked(seen) === wanted);
}

test('mode is online or offline', async () => {
  await changed(['--mode', 'offline'], { mode: 'offline' });
  await changed(['--mode', 'online'], { mode: 'online' });
  await expect(site.settings.run('site', 'set', site.site, '--mode', 'paused')).rejects.toThrow();
});

test('business_category is one of nine, and capture is the same under each', async () => {
  for (const category of CATEGORIES) {
    await changed(['--category', category], { business_category: category });
    const answer = await postEvents(service.ready.edge, site.serverKey, [newEvent()]);
    expect([category, answer.status, answer.body]).toEqual([category, 200, { accepted: 1 }]);
  }
  await expect(site.settings.run('site', 'set', site.site, '--category', 'fishing')).rejects.toThrow();
});

test('clarity and gtm are shown once set', async () => {
  await changed(['--clarity', 'abcde12345', '--gtm', 'GTM-ABC1234'], {
    clarity: { project_id: 'abcde12345' },
    gtm: { container_id: 'GTM-ABC1234' },
  });
  await changed(['--clarity', '', '--gtm', ''], { clarity: null, gtm: null });
});

test('facebook is shown with its route pixels', async () => {
  const pixels = [{ pixel_id: '223456789012345', url_pattern: '/sale/*' }];
  const set = ['--set', 'pixel_id=123456789012345', '--set', `route_pixels=${JSON.stringify(pixels)}`];
  const secret = ['--secret', 'access_token=not-for-browsers'];
  await site.settings.run('destination', 'create', 'meta', '--site', site.site, ...set, ...secret);
  const seen = await until('the pixel', config, ({ facebook }) => facebook !== null);
  expect(seen['facebook']).toEqual({ pixel_id: '123456789012345', route_pixels: pixels });
  expect(JSON.stringify(seen)).not.toContain('not-for-browsers');
});

test('custom_loader is true once a first-party domain is verified', async () => {
  const [unset, domain] = [`unset.${site.site}.example`, `${site.site}.example`];
  await changed(['--domain', unset, '--name', 'claimed'], { custom_loader: false });
  await verifiedDomain(service, site, domain);
  await changed(['--name', 'verified'], { custom_loader: true });
  await changed(['--remove-domain', unset, '--remove-domain', domain], { custom_loader: false });
});

test('the tag is told how it is to behave, and where the verified domain is', async () => {
  const domain = `tag.${site.site}.example`;
  await verifiedDomain(service, site, domain);
  await changed(['--tag', 'consent_required=on', '--tag', 'inventory=off'], {
    tag: {
      parts: ['vendors'],
      engage: false,
      web_vitals: false,
      consent: { required: true, queue: true },
      respect_dnt: true,
      respect_gpc: true,
      inventory: false,
      loader: { base: `https://${domain}`, prefix: '' },
      event_names: {},
    },
  });
  await changed(['--remove-domain', domain], { custom_loader: false });
});

const DEFINITION = {
  id: 'buy',
  name: 'buy_clicked',
  trigger: 'click',
  selector: '#buy',
  url_pattern: '/product/*',
  text_contains: 'Buy',
  properties: { plan: 'pro' },
  conversion_event: 'Purchase',
  destinations: { meta: false },
  value_selector: '.price',
  field_selectors: { order_id: '#order' },
  enabled: false,
};

test('event definitions are shown with every field; what was left out has its default', async () => {
  const file = join(folder, 'definitions.json');
  const least = { id: 'least', name: 'seen', trigger: 'visible' };
  writeFileSync(file, JSON.stringify([DEFINITION, least]));
  await changed(['--definitions-file', file], {
    events: [
      DEFINITION,
      {
        selector: '',
        url_pattern: '',
        text_contains: '',
        properties: {},
        conversion_event: '',
        destinations: {},
        value_selector: '',
        field_selectors: {},
        enabled: true,
        ...least,
      },
    ].map(inOrder),
  });
});

/** As the configuration has the fields, since texts are compared. */
function inOrder(definition: object): object {
  const fields = new Map(Object.entries(definition));
  const names = [...Object.keys(DEFINITION).slice(3), 'id', 'name', 'trigger'];
  return Object.fromEntries(names.map((name) => [name, fields.get(name)]));
}

test.for(['pageview', 'click', 'submit', 'change', 'visible', 'scroll', 'timer', 'custom', 'dance'])(
  'trigger %s',
  async (trigger) => {
    const file = join(folder, `${trigger}.json`);
    writeFileSync(file, JSON.stringify([{ id: 'one', name: 'n', trigger }]));
    const change = site.settings.run('site', 'set', site.site, '--definitions-file', file);
    if (trigger === 'dance') await expect(change).rejects.toThrow();
    else expect(await change).toMatchObject({ event_definitions: [{ trigger }] });
  },
);
