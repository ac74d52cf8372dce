import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ShopServer, startShop } from '#services/local/shop/shop_server.ts';

const EDGE = 'http://127.0.0.1:9';
let shop: ShopServer;
beforeAll(async () => {
  shop = await startShop(0, { edge: EDGE, key: 'svc_pk_x' });
});
afterAll(() => shop.stop());

const attributes = (page: string, name: string): string[] =>
  [...page.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value);

/** Every page and file that is reached from the first one by links, with its status. */
async function crawl(): Promise<Map<string, { status: number; text: string }>> {
  const seen = new Map<string, { status: number; text: string }>();
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    const answer = await fetch(`${shop.url}${path}`);
    const text = await answer.text();
    seen.set(path, { status: answer.status, text });
    const links = [...attributes(text, 'href'), ...attributes(text, 'src'), ...attributes(text, 'action')];
    waiting.push(...links.filter((link) => link.startsWith('/')));
  }
  return seen;
}

test('every link of the shop leads to a page or a file that is there', async () => {
  const pages = await crawl();
  expect([...pages].filter(([, { status }]) => status !== 200).map(([path]) => path)).toEqual([]);
  expect([...pages.keys()]).toEqual(
    expect.arrayContaining([
      '/cart',
      '/contact',
      '/category/lamps',
      '/product/desk-lamp',
      '/lookbook/evening',
      '/shop.js',
    ]),
  );
});

test('nothing on the pages comes from anywhere but the shop and its edge', async () => {
  for (const { text } of (await crawl()).values()) {
    expect(text.match(/https?:\/\/[^/"' ]+/g)?.filter((origin) => origin !== EDGE) ?? []).toEqual([]);
  }
});

test('the tag stands on every page with the key, and the policy gives no nonce that it could hand on', async () => {
  const page = await fetch(`${shop.url}/`);
  const policy = page.headers.get('content-security-policy') ?? '';
  const text = await page.text();
  expect(text).toContain(`<script async src="${EDGE}/svc.min.js" data-key="svc_pk_x"></script>`);
  const [, stub = ''] = /<script>([\s\S]*?)<\/script>/.exec(text) ?? [];
  expect(policy).toContain(`script-src 'self' 'sha256-${hash('sha256', stub, 'base64')}' ${EDGE};`);
  expect(policy).not.toMatch(/nonce-|strict-dynamic/);
});

test('a page that the shop has not is 404, and so is a name that every object has', async () => {
  for (const path of ['/nothing', '/product/nothing', '/category/constructor', '/constructor', '/__proto__']) {
    expect((await fetch(`${shop.url}${path}`)).status, path).toBe(404);
  }
});
