import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';
import { type DelayProxy, startDelayProxy } from '../harness/delay_proxy.ts';
import { html, type PageServer, startPageServer } from '../harness/page_server.ts';
import { openServiceWorld, type ServiceWorld, track, visit } from './harness/service_world.ts';

let world: ServiceWorld;
let anonymousLimiter: PageServer;
let strangersProxy: DelayProxy;
beforeAll(async () => {
  world = await openServiceWorld(sharedService());
  const head = `<script async src="${world.collector}/svc.min.js" data-key="${world.site.browserKey}"></script>`;
  anonymousLimiter = await startPageServer({ '/': { body: html({ head }) } });
  strangersProxy = await startDelayProxy(anonymousLimiter.url);
});
afterAll(async () => {
  await world.close();
  await strangersProxy.close();
  await anonymousLimiter.close();
});

test('a page of an origin on the allow-list sends its events', async () => {
  const context = await world.browser.newContext();
  const page = await visit(context, `${world.shop}/`);
  const id = await track(page, 'signed_up');
  expect((await world.settledRows('signed_up', 1)).map(({ event_id }) => event_id)).toEqual([id]);
  await context.close();
});

test('a page of another origin is refused with 403, and nothing of it is stored', async () => {
  const context = await world.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${strangersProxy.origin('www.stranger.example')}/`);
  const status = await page.evaluate(async ({ url, body }) => (await fetch(url, { method: 'POST', body })).status, {
    url: `${world.collector}/v1/ingest?key=${world.site.browserKey}`,
    body: JSON.stringify({ events: [{ event: 'stolen', uuid: crypto.randomUUID() }] }),
  });
  expect(status).toBe(403);
  await page.evaluate(() => (window as { svc?: { track?(event: string): void } }).svc?.track?.('stolen'));
  await page.close();
  // What comes behind it shows that it had the time to arrive.
  await track(await visit(context, `${world.shop}/`), 'behind');
  await world.settledRows('behind', 1);
  expect(await world.rows('stolen')).toEqual([]);
  await context.close();
});

test.each(['', 'no-referrer'])(
  'an image of another origin’s page is refused, with the referrer policy %j',
  async (policy) => {
    const context = await world.browser.newContext();
    const load = async (at: string, event: string): Promise<void> => {
      const page = await context.newPage();
      await page.goto(at);
      const src = `${world.collector}/g/collect?key=${world.site.browserKey}&cid=1.2&en=${event}`;
      const show = async (image: { src: string; referrerPolicy: string }): Promise<void> => {
        const shown = Object.assign(new Image(), image);
        await new Promise((resolve) => Object.assign(shown, { onload: resolve, onerror: resolve }));
      };
      await page.evaluate(show, { src, referrerPolicy: policy });
      await page.close();
    };
    await load(`${strangersProxy.origin('www.stranger.example')}/`, 'stolen_image');
    const event = `image_${policy === '' ? 'referred' : 'behind'}`;
    if (policy === '') await load(`${world.shop}/`, event);
    else await track(await visit(context, `${world.shop}/`), event);
    await world.settledRows(event, 1);
    expect(await world.rows('stolen_image')).toEqual([]);
    await context.close();
  },
);
