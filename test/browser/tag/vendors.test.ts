import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PartHost, SiteConfig, VendorEvent, Vendors } from '#services/tag/src/types.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { definition } from './harness/definition.ts';
import { type ModulePages, startModulePages } from './harness/module_page.ts';
import { PLAIN_SITE } from './harness/plain_site.ts';
import { standInForVendors } from './harness/standin_vendors.ts';

type TagWindow = Window & {
  tag: typeof import('#services/tag/src/lazy_parts.ts');
  vendors: Vendors;
  allowed: { ads: boolean; analytics: boolean };
  told?: unknown[][];
};

const FACEBOOK = { pixel_id: '11111', route_pixels: [{ pixel_id: '22222', url_pattern: '/fr/*' }] };
const ALL: SiteConfig = {
  ...PLAIN_SITE,
  clarity: { project_id: 'abc' },
  facebook: FACEBOOK,
  tiktok: { pixel_code: 'CODE' },
  ga4: { measurement_id: 'G-1' },
  gtm: { container_id: 'GTM-1' },
};
const PURCHASE: VendorEvent = {
  event: 'Order Completed',
  uuid: 'u-1',
  properties: {
    value: 30,
    currency: 'EUR',
    order_id: 'A-1',
    email: 'jane@shop.example',
    items: [{ item_id: 's', price: 15, quantity: 2 }],
  },
};
const PAGE: VendorEvent = { event: '$pageview', uuid: 'u-0', properties: {} };

let browser: TestBrowser;
let pages: ModulePages;
let asked: string[] = [];
beforeAll(async () => {
  browser = await openBrowser('shell');
  pages = await startModulePages(browser, 'lazy_parts.ts', { '/svc-vendors.min.js': 'scripts/vendors_script.ts' });
});
afterAll(async () => {
  await pages.close();
  await browser.close();
});

const BOTH = { ads: true, analytics: true };

/** A page of the site on which the platforms were started, and told of the events. */
async function started(
  config: SiteConfig,
  events: VendorEvent[],
  allowed = BOTH,
  path?: string,
  head = '',
): Promise<Page> {
  asked = [];
  const page = await pages.open(head, path, (context) => standInForVendors(context, (url) => void asked.push(url)));
  await page.evaluate(
    ([site, choice]) => {
      const shown = window as unknown as TagWindow;
      shown.allowed = choice;
      const load = (src: string) => document.head.appendChild(Object.assign(document.createElement('script'), { src }));
      const { allowed: now } = shown;
      const host = { base: '/', load, config: site, ads: () => now.ads, analytics: () => now.analytics };
      const coming = shown.tag.startPart<Vendors>(host as PartHost, 'vendors');
      shown.vendors = {
        start: () => void coming.then((vendors) => vendors?.start()),
        event: (one) => void coming.then((vendors) => vendors?.event(one)),
      };
      shown.vendors.start();
    },
    [config, allowed] as const,
  );
  await tell(page, events);
  return page;
}

const tell = (page: Page, events: VendorEvent[]): Promise<void> =>
  page.evaluate((all) => {
    for (const one of all) (window as unknown as TagWindow).vendors.event(one);
  }, events);
const told = (page: Page): Promise<unknown[][]> =>
  page.evaluate(() => (window as unknown as TagWindow).told?.map((call) => [...call]) ?? []);
const toldOf = async (page: Page, vendor: string): Promise<unknown[][]> =>
  (await told(page)).filter(([name]) => name === vendor).map(([, ...call]) => call);
/** Waits until all that the platforms were told before has come, and nothing more. */
async function settled(page: Page, vendor: string, count: number): Promise<unknown[][]> {
  await until(
    `${vendor} is told`,
    () => toldOf(page, vendor),
    ({ length }) => length >= count,
  );
  await page.waitForTimeout(200);
  return toldOf(page, vendor);
}

/** The visitor takes everything back. */
const withdraw = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const { allowed, vendors } = window as unknown as TagWindow;
    Object.assign(allowed, { ads: false, analytics: false });
    vendors.start();
  });

test('Meta and TikTok get the event under its id, by their own name, and of commerce only', async () => {
  const page = await started(ALL, [PURCHASE]);
  const bought = { value: 30, currency: 'EUR', order_id: 'A-1', content_ids: ['s'], content_type: 'product' };
  expect(await settled(page, 'fbq', 2)).toEqual([
    ['init', '11111'],
    [
      'trackSingle',
      '11111',
      'Purchase',
      { ...bought, contents: [{ id: 's', quantity: 2, item_price: 15 }] },
      { eventID: 'u-1' },
    ],
  ]);
  expect(await settled(page, 'ttq', 1)).toEqual([
    ['track', 'Purchase', { ...bought, contents: [{ content_id: 's', quantity: 2, price: 15 }] }, { event_id: 'u-1' }],
  ]);
});

test('GA4 gets the event under its canonical name with its id, after it is told of consent', async () => {
  const page = await started({ ...PLAIN_SITE, ga4: ALL.ga4 }, [PURCHASE]);
  const calls = await settled(page, 'gtag', 4);
  expect(calls.map(([command, what]) => [command, what])).toEqual([
    ['consent', 'default'],
    ['js', expect.anything()],
    ['config', 'G-1'],
    ['event', 'purchase'],
  ]);
  expect(calls.at(-1)?.[2]).toEqual({
    value: 30,
    currency: 'EUR',
    items: PURCHASE.properties['items'],
    transaction_id: 'A-1',
    event_id: 'u-1',
    send_to: 'G-1',
  });
});

test('GTM hears of the event under a name of ours, so that it is not taken for one of the shop', async () => {
  const page = await started({ ...PLAIN_SITE, gtm: ALL.gtm }, [PURCHASE]);
  const messages = await settled(page, 'layer', 2);
  expect(messages.map(([message]) => (message as { event: string }).event)).toEqual(['gtm.js', 'svc.purchase']);
});

test('a page is reported once to each', async () => {
  const page = await started(ALL, [PAGE]);
  expect((await settled(page, 'fbq', 2)).slice(1)).toEqual([
    ['trackSingle', '11111', 'PageView', {}, { eventID: 'u-0' }],
  ]);
  expect(await settled(page, 'ttq', 1)).toEqual([['track', 'Pageview', {}, { event_id: 'u-0' }]]);
  const events = (await settled(page, 'gtag', 4)).filter(([command]) => command === 'event');
  expect(events.map(([, name]) => name)).toEqual(['page_view']);
  expect((await toldOf(page, 'gtag')).find(([command]) => command === 'config')?.[2]).toEqual({
    send_page_view: false,
  });
});

test('a pixel of a route takes the place of the one of the site there', async () => {
  const page = await started({ ...PLAIN_SITE, facebook: FACEBOOK }, [PAGE], BOTH, '/fr/panier');
  expect((await settled(page, 'fbq', 2)).map((call) => call.slice(0, 2))).toEqual([
    ['init', '22222'],
    ['trackSingle', '22222'],
  ]);
});

test('a destination that a definition switches off is not told, and a conversion goes under its own name', async () => {
  const events = [definition({ name: 'quiz', conversion_event: 'Lead', destinations: { tiktok: false } })];
  const page = await started({ ...ALL, events }, [{ event: 'quiz', uuid: 'u', properties: {} }]);
  expect((await settled(page, 'fbq', 2)).at(-1)?.slice(0, 3)).toEqual(['trackSingle', '11111', 'Lead']);
  expect(await toldOf(page, 'ttq')).toEqual([]);
});

test('an event that the site renamed goes to each by the name which the service tells it', async () => {
  const names = { orderdone: 'Purchase', quiz: 'quiz_finished', productviewed: 'Looked At', $vitals: 'vitals' };
  const tag = { event_names: { meta: names, tiktok: { quiz: 'Contact' }, ga4: names } };
  const page = await started({ ...ALL, gtm: null, tag }, [
    { event: 'order_done', uuid: 'a', properties: {} },
    { event: 'quiz', uuid: 'b', properties: {} },
    { event: 'Product Viewed', uuid: 'c', properties: {} },
    { event: '$vitals', uuid: 'd', properties: {} },
  ]);
  expect((await settled(page, 'fbq', 5)).slice(1).map(([how, , name]) => [how, name])).toEqual([
    ['trackSingle', 'Purchase'],
    ['trackSingleCustom', 'quiz_finished'],
    ['trackSingleCustom', 'Looked At'],
    ['trackSingleCustom', 'vitals'],
  ]);
  expect((await settled(page, 'ttq', 3)).map(([, name]) => name)).toEqual(['order_done', 'Contact', 'ViewContent']);
  const events = (await settled(page, 'gtag', 7)).filter(([command]) => command === 'event');
  expect(events.map(([, name]) => name)).toEqual(['Purchase', 'quiz_finished', 'Looked_At', 'vitals']);
});

test('an event of no known name is a custom one, and the vocabulary of the service stays here', async () => {
  const page = await started({ ...PLAIN_SITE, facebook: FACEBOOK }, [
    { event: '$identify', uuid: 'a', properties: {} },
    { event: 'quiz', uuid: 'b', properties: {} },
  ]);
  expect((await settled(page, 'fbq', 2)).slice(1)).toEqual([
    ['trackSingleCustom', '11111', 'quiz', {}, { eventID: 'b' }],
  ]);
});

test('a site with GA4 on the service side loads no gtag', async () => {
  const page = await started({ ...ALL, ga4: null, gtm: null }, [PURCHASE]);
  await settled(page, 'fbq', 2);
  expect(asked.filter((url) => url.includes('google'))).toEqual([]);
  expect(await page.evaluate(() => 'gtag' in window || 'dataLayer' in window)).toBe(false);
});

test('without consent to advertising Meta and TikTok are neither loaded nor told', async () => {
  const page = await started(ALL, [PURCHASE], { ads: false, analytics: true });
  const [consent] = await settled(page, 'gtag', 4);
  expect(consent?.[2]).toMatchObject({ ad_storage: 'denied', analytics_storage: 'granted' });
  expect(asked.filter((url) => /facebook|tiktok/.test(url))).toEqual([]);
  expect(await page.evaluate(() => 'fbq' in window || 'ttq' in window)).toBe(false);
});

test('without consent to measuring GA4 and Clarity are neither loaded nor told', async () => {
  const page = await started(ALL, [PURCHASE], { ads: true, analytics: false });
  await settled(page, 'fbq', 2);
  expect(asked.filter((url) => /gtag|clarity/.test(url))).toEqual([]);
});

test('without any consent nothing is loaded, and once it is given what comes then is told', async () => {
  const page = await started(ALL, [PURCHASE], { ads: false, analytics: false });
  await page.waitForTimeout(300);
  expect([asked, await told(page)]).toEqual([[], []]);
  await page.evaluate(() => {
    const { allowed, vendors } = window as unknown as TagWindow;
    allowed.ads = true;
    vendors.start();
  });
  await tell(page, [{ ...PURCHASE, uuid: 'u-2' }]);
  expect((await settled(page, 'fbq', 2)).at(-1)?.at(-1)).toEqual({ eventID: 'u-2' });
});

test('after consent is taken back the platforms are told that, and nothing more', async () => {
  const page = await started(ALL, [PURCHASE]);
  await settled(page, 'fbq', 2);
  await withdraw(page);
  await tell(page, [{ ...PURCHASE, uuid: 'u-2' }]);
  expect((await settled(page, 'fbq', 3)).at(-1)).toEqual(['consent', 'revoke']);
  expect((await toldOf(page, 'ttq')).at(-1)).toEqual(['revokeConsent']);
  expect(JSON.stringify(await told(page))).not.toContain('u-2');
});

test.each([
  ['GA4', { ...PLAIN_SITE, ga4: ALL.ga4 }],
  ['GTM', { ...PLAIN_SITE, gtm: ALL.gtm }],
])('after consent is taken back %s is told that all is denied', async (_, config) => {
  const page = await started(config, [PURCHASE]);
  await settled(page, 'gtag', 1);
  await withdraw(page);
  const denied = { analytics_storage: 'denied', ad_storage: 'denied', ad_user_data: 'denied' };
  await until(
    'the last word is told',
    () => toldOf(page, 'gtag'),
    (calls) => calls.at(-1)?.[1] === 'update',
  );
  expect((await toldOf(page, 'gtag')).at(-1)).toEqual(['consent', 'update', expect.objectContaining(denied)]);
});

test('whatever a page has put into the data layer, GA4 is told of consent and of the event', async () => {
  const head = '<script>dataLayer = [undefined, null, "x"];</script>';
  const page = await started({ ...PLAIN_SITE, ga4: ALL.ga4 }, [PURCHASE], BOTH, '/', head);
  const calls = (await settled(page, 'gtag', 4)).map(([command]) => command);
  expect(calls).toEqual(['consent', 'js', 'config', 'event']);
});

test('an event that waited while the visitor went on goes to the pixel of its own page', async () => {
  const waited = { ...PAGE, properties: { $current_url: 'https://shop.example/fr/panier' } };
  const page = await started({ ...PLAIN_SITE, facebook: FACEBOOK }, [waited], BOTH, '/cart');
  expect((await settled(page, 'fbq', 2)).at(-1)?.slice(0, 2)).toEqual(['trackSingle', '22222']);
});

test('beside the pixel that a page has of its own TikTok loads ours, and only ours is told', async () => {
  const head = `<script>
    told = [];
    ttq = {
      _i: { OWN: [] },
      load: (code) => { ttq._i[code] = []; told.push(['ttq', 'load', code]); },
      track: (...args) => told.push(['ttq', 'all', ...args]),
      instance: (code) => ({ track: (...args) => told.push(['ttq', code, ...args]) }),
    };
  </script>`;
  const page = await started({ ...PLAIN_SITE, tiktok: ALL.tiktok }, [PAGE], BOTH, '/', head);
  expect(await settled(page, 'ttq', 2)).toEqual([
    ['load', 'CODE'],
    ['CODE', 'Pageview', {}, { event_id: 'u-0' }],
  ]);
});

test("a banner that speaks to Google's consent mode is left to it", async () => {
  const head =
    '<script>dataLayer = []; function gtag() { dataLayer.push(arguments); } gtag("consent", "default", {});</script>';
  const page = await started({ ...PLAIN_SITE, ga4: ALL.ga4 }, [PAGE], BOTH, '/', head);
  expect((await settled(page, 'gtag', 4)).filter(([command]) => command === 'consent')).toHaveLength(1);
});

test('on a claimed domain the scripts come from there, and Clarity from its own', async () => {
  const tag = { loader: { base: pages.server.url, prefix: '/x7k2' } };
  await settled(await started({ ...ALL, custom_loader: true, tag }, [PAGE]), 'fbq', 2);
  expect(asked.map((url) => url.replace(pages.server.url, '')).sort()).toEqual([
    '/x7k2/sg.js',
    '/x7k2/sp.js',
    '/x7k2/sx.js',
    '/x7k2/tt.js',
    'https://www.clarity.ms/tag/abc',
  ]);
});
