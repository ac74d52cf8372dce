import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { select } from '#test/harness/clickhouse.ts';
import type { SharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { openBrowser, type TestBrowser } from '../../harness/chromium.ts';
import { type DelayProxy, startDelayProxy } from '../../harness/delay_proxy.ts';
import { html, startPageServer } from '../../harness/page_server.ts';

/** An event as ClickHouse has it. */
interface StoredEvent {
  event_id: string;
  distinct_id: string;
  value: number | null;
  /** JSON. */
  properties: string;
}

/** A site whose pages and whose edge, the real one, are 40 ms from the browser. */
export interface ServiceWorld {
  browser: TestBrowser;
  site: TestSite;
  /** Origin of the pages, which is on the key's allow-list. */
  shop: string;
  /** Origin of the edge. */
  collector: string;
  edgeProxy: DelayProxy;
  /** The site's rows of an event, in no order. */
  rows(event: string): Promise<StoredEvent[]>;
  /** The site's rows of an event when there are so many, or a minute has passed, and a moment later, for one too many. */
  settledRows(event: string, count: number): Promise<StoredEvent[]>;
  close(): Promise<void>;
}

const ROWS_MS_MAX = 60_000;
const POLL_MS = 250;
/** A repetition would be behind the event that it repeats by no more. */
const SETTLING_MS = 1_500;

/** Opens a shop of two pages with the tag, on a site of its own. */
export async function openServiceWorld(service: SharedService): Promise<ServiceWorld> {
  const edgeProxy = await startDelayProxy(service.ready.edge);
  const collector = edgeProxy.origin('edge.example');
  let key = '';
  const pageServer = await startPageServer(() => {
    const head = `<script async src="${collector}/svc.min.js" data-key="${key}"></script>`;
    return { body: html({ head, body: '<a href="/next">next</a>' }) };
  });
  const pageProxy = await startDelayProxy(pageServer.url);
  const shop = pageProxy.origin('www.shop.example');
  const site = await makeSite(service, { browserKeyWords: ['--origin', shop] });
  key = site.browserKey;
  const browser = await openBrowser('whole');
  const rows = (event: string): Promise<StoredEvent[]> => storedRows(service, site.site, event);
  return {
    ...{ browser, site, shop, collector, edgeProxy, rows },
    async settledRows(event, count) {
      const deadline = performance.now() + ROWS_MS_MAX;
      while ((await rows(event)).length < count && performance.now() < deadline) await sleep(POLL_MS);
      await sleep(SETTLING_MS);
      return rows(event);
    },
    async close() {
      await browser.close();
      await Promise.all([pageProxy.close(), edgeProxy.close()]);
      await Promise.all([pageServer.close(), site.close()]);
    },
  };
}

/** The site's rows of an event, in the table itself, in no order. */
function storedRows(service: SharedService, site: string, event: string): Promise<StoredEvent[]> {
  return select<StoredEvent>(
    service.ready.clickhouse,
    `SELECT sent_id AS event_id, distinct_id, value, properties FROM event_rows
     WHERE site_id = {site:String} AND event = {event:String}`,
    { site, event },
  );
}

/** Opens a page and waits until its tag knows the site's configuration. */
export async function visit(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await knowsSite(page);
  return page;
}

/** Waits until the tag of the page that is open knows the site's configuration. */
export async function knowsSite(page: Page): Promise<void> {
  await page.waitForFunction(() => (window as { svc?: { status?(): { mode?: string } } }).svc?.status?.().mode);
}

/** Tracks on a page, and returns the event's id as the page got it. */
export function track(page: Page, event: string, properties: object = {}): Promise<string> {
  return page.evaluate(({ name, more }) => window.svc.track(name, more), { name: event, more: properties });
}
