import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { bundle } from '#infra/bundler/bundle.ts';
import { tagParts } from '#pipelines/settings/site_config.ts';
import { TAG_SOURCES } from '#services/edge/tag_files/routes.ts';
import type { SiteConfig } from '#services/tag/src/types.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../../harness/chromium.ts';
import { type DelayProxy, startDelayProxy } from '../../harness/delay_proxy.ts';
import type { ChromiumKind } from '../../harness/find_chromium.ts';
import { html, type PageServer, startPageServer } from '../../harness/page_server.ts';
import { type StandinEdge, startStandinEdge } from '../../harness/standin_edge.ts';
import { PLAIN_SITE } from './plain_site.ts';

/** An event as the edge got it. */
interface SentEvent {
  event: string;
  uuid: string;
  distinct_id?: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

interface WorldPage {
  /** Attributes of the tag's element beside its source and key. */
  attributes?: string;
  head?: string;
  body?: string;
  title?: string;
  headers?: Record<string, string>;
  /** Instead of the tag's element. */
  tag?: string;
}

/** A shop with the tag, 40 ms from the browser, and a stand-in for the edge as far away. */
export interface TagWorld {
  browser: TestBrowser;
  edge: StandinEdge;
  edgeProxy: DelayProxy;
  pageServer: PageServer;
  /** Origins. */
  shop: string;
  collector: string;
  /** By their path; `/` and `/next` are there. */
  pages: Record<string, WorldPage>;
  configure(config?: Partial<SiteConfig>): void;
  /** Opens a page of the shop and waits until the tag knows the configuration. */
  visit(context: BrowserContext, path?: string): Promise<Page>;
  visitor(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Waits until the page has nothing more to send. */
  settled(page: Page): Promise<unknown>;
  /** What was taken, of one name or of all. */
  events(name?: string): SentEvent[];
  /** Waits for so many events of a name to be taken. */
  taken(name: string, count?: number): Promise<SentEvent[]>;
  /** Forgets what was sent, also by pages that were closed just now, configures the site anew and takes everything again. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

const CONFIG: SiteConfig = { ...PLAIN_SITE, tag: { inventory: false } };

/** What a page that is closed says last is on its way so long at most. */
const LATE_MS = 400;

/** What a page has in front of the tag. */
export const STUB = readFileSync(new URL('../../../../services/tag/stub.js', import.meta.url), 'utf8');

export async function openTagWorld(kind: ChromiumKind = 'shell'): Promise<TagWorld> {
  const edge = await startStandinEdge({});
  for (const { name, ...options } of TAG_SOURCES) {
    edge.files[`/${name}`] = { type: 'text/javascript', body: Buffer.from(await bundle(options)) };
  }
  const edgeProxy = await startDelayProxy(edge.url);
  const collector = edgeProxy.origin('edge.example');
  const pages: Record<string, WorldPage> = {};
  const pageServer = await startPageServer((request) => {
    const page = pages[new URL(request.url ?? '', 'http://shop').pathname];
    return page && { body: bodyOf(page, collector), ...(page.headers && { headers: page.headers }) };
  });
  const pageProxy = await startDelayProxy(pageServer.url);
  const shop = pageProxy.origin('www.shop.example');
  const browser = await openBrowser(kind);
  const events = (name?: string): SentEvent[] =>
    (edge.taken as unknown as SentEvent[]).filter(({ event }) => name === undefined || event === name);
  const configure = (config: Partial<SiteConfig> = {}): void => {
    const whole = { ...CONFIG, ...config };
    const tag = { inventory: true, engage: false, web_vitals: false, hash_routes: false, loader: null, ...whole.tag };
    const body = JSON.stringify({ ...whole, tag: { ...tag, parts: tagParts(whole, tag) } });
    edge.files['/v1/config'] = { type: 'application/json', body };
  };
  return {
    ...{ browser, edge, edgeProxy, pageServer, shop, collector, pages, configure, events },
    visitor: (options) => browser.newContext(options),
    settled: (page) => page.waitForFunction(() => window.svc.status()['waiting'] === 0),
    visit: (context, path = '/') => visit(context, shop + path),
    taken: (name, count = 1) =>
      until(
        `${count} of ${name}`,
        () => events(name),
        (seen) => seen.length >= count,
        { timeoutMs: 20_000 },
      ),
    async reset() {
      await sleep(LATE_MS);
      edge.answer = { kind: 'take' };
      edge.replies = {};
      edge.taken.length = edge.requests.length = pageServer.requests.length = 0;
      for (const path of Object.keys(pages)) delete pages[path];
      pages['/'] = { title: 'Shop', body: '<a href="/next">next</a>' };
      pages['/next'] = { title: 'Next' };
      configure();
    },
    async close() {
      await browser.close();
      await Promise.all([pageProxy.close(), edgeProxy.close()]);
      await Promise.all([pageServer.close(), edge.close()]);
    },
  };
}

async function visit(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => (window as { svc?: { status?(): { mode?: string } } }).svc?.status?.().mode);
  return page;
}

function bodyOf({ attributes = '', head = '', tag, ...page }: WorldPage, collector: string): string {
  const element = `<script async src="${collector}/svc.min.js" data-key="svc_pk_test" ${attributes}></script>`;
  return html({ ...page, head: `${head}${tag ?? element}` });
}

/** The tag as a page sees it. */
interface Svc {
  track(event: string, properties?: object, given?: object): string;
  identify(id: unknown, traits?: object): void;
  alias(id: string): void;
  page(properties?: object): void;
  consent(choice: object): void;
  reset(): void;
  ready(listener: () => void): void;
  status(): Record<string, unknown>;
}

declare global {
  interface Window {
    svc: Svc;
  }
}
