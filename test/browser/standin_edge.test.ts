import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from './harness/chromium.ts';
import { type DelayProxy, startDelayProxy } from './harness/delay_proxy.ts';
import { html, type PageServer, startPageServer } from './harness/page_server.ts';
import { type StandinEdge, startStandinEdge } from './harness/standin_edge.ts';

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

let pages: PageServer;
let edge: StandinEdge;
let proxies: DelayProxy[];
let browser: TestBrowser;
let ask: (path: string, options: Asked) => Promise<string>;
beforeAll(async () => {
  pages = await startPageServer({ '/': { body: html({}) } });
  edge = await startStandinEdge({ '/v1/config': { type: 'application/json', body: '{"mode":"online"}' } });
  proxies = [await startDelayProxy(pages.url), await startDelayProxy(edge.url)];
  browser = await openBrowser('shell');
  const page = await (await browser.newContext()).newPage();
  const [shop, collector] = [proxies[0]?.origin('shop.example'), proxies[1]?.origin('edge.example')];
  await page.goto(`${shop}/`);
  ask = (path, options) =>
    page.evaluate(
      async ({ url, init }) => {
        const answer = await fetch(url, init);
        return `${answer.status} ${answer.headers.get('retry-after')} ${await answer.text()}`;
      },
      { url: `${collector}${path}`, init: options },
    );
});
afterAll(async () => {
  await browser.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await Promise.all([edge.close(), pages.close()]);
});
beforeEach(() => {
  edge.requests.length = 0;
  edge.taken.length = 0;
  edge.answer = { kind: 'take' };
});

const POST: Asked = {
  method: 'POST',
  headers: { 'content-type': 'text/plain' },
  body: '{"events":[{"event":"a"}]}',
};

test('a page of another origin reads the files and sends events, without a preflight', async () => {
  expect(await ask('/v1/config', {})).toBe('200 null {"mode":"online"}');
  expect(await ask('/v1/ingest?key=k', POST)).toBe('200 null {"accepted":1}');
  expect(edge.taken).toEqual([{ event: 'a' }]);
  expect(edge.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1/config',
    'POST /v1/ingest?key=k',
  ]);
});

test('a refusal says when to come again, and takes nothing', async () => {
  edge.answer = { kind: 'refuse', status: 429, retryAfterS: 7 };
  expect(await ask('/v1/ingest?key=k', POST)).toMatch(/^429 7 /);
  expect(edge.taken).toEqual([]);
  expect(edge.posts()).toHaveLength(1);
});

test('a stalled request gets no answer', async () => {
  edge.answer = { kind: 'stall' };
  const waited = await Promise.race([
    ask('/v1/ingest?key=k', POST),
    new Promise((resolve) => setTimeout(resolve, 1_000, 'no answer')),
  ]);
  expect(waited).toBe('no answer');
  expect(edge.posts()).toHaveLength(1);
});
