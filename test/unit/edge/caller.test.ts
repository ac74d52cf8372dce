import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newEvent, readAnswer } from '#test/harness/ingest.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
beforeEach(() => edge.records.splice(0));
afterAll(() => edge.close());

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
const ORIGIN = { origin: 'https://shop.example' };

/** Node's fetch sends `Sec-Fetch-Mode: cors` and the user agent `node` of itself. */
const post = async (key: string, headers: Record<string, string>) =>
  readAnswer(
    await fetch(`${edge.url}/v1/ingest`, {
      method: 'POST',
      body: JSON.stringify({ events: [newEvent()] }),
      headers: { 'content-type': 'application/json', 'x-svc-key': key, ...headers },
    }),
  );

test.each<[what: string, key: 'serverKey' | 'browserKey', headers: Record<string, string>, accepted: number]>([
  ['a browser key in Node', 'browserKey', {}, 1],
  ['a server key in Node', 'serverKey', {}, 1],
  ['a server key in an HTTP library', 'serverKey', { 'user-agent': 'python-requests/2.32' }, 1],
  ['a browser key in an HTTP library without a browser’s signs', 'browserKey', { 'user-agent': 'curl/8.5.0' }, 1],
  ['an HTTP library that shows an origin', 'browserKey', { ...ORIGIN, 'user-agent': 'python-requests/2.32' }, 0],
  ['a browser', 'browserKey', { ...ORIGIN, 'sec-fetch-site': 'cross-site', 'user-agent': CHROME }, 1],
  ['a driven browser', 'browserKey', { ...ORIGIN, 'user-agent': CHROME.replace('Chrome', 'HeadlessChrome') }, 0],
  ['an origin without a user agent', 'browserKey', { ...ORIGIN, 'user-agent': '' }, 0],
  ['a crawler known by name', 'serverKey', { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' }, 0],
  ['Sec-Purpose: prefetch', 'browserKey', { 'user-agent': CHROME, 'sec-purpose': 'prefetch' }, 0],
  ['Sec-Purpose: prerender', 'browserKey', { 'user-agent': CHROME, 'sec-purpose': 'prefetch;prerender' }, 0],
  ['Purpose: prefetch', 'browserKey', { 'user-agent': CHROME, purpose: 'prefetch' }, 0],
  ['X-Moz: prefetch', 'browserKey', { 'user-agent': CHROME, 'x-moz': 'prefetch' }, 0],
  ['X-Purpose: preview', 'browserKey', { 'user-agent': CHROME, 'x-purpose': 'preview' }, 0],
])('%s', async (_what, key, headers, accepted) => {
  expect(await post(edge[key], headers)).toMatchObject({ status: 200, body: { accepted } });
  expect(edge.records.flat()).toHaveLength(accepted);
});

test('what a page has its browser send without an Origin is judged by its Referer, on every route', async () => {
  const listed = await startEdge({ browserOrigins: ['https://shop.example'] });
  const event = JSON.stringify({ event: 'a', distinct_id: 'p', properties: { token: listed.browserKey } });
  const statuses = async (referer: string): Promise<number[]> => {
    const sent: [path: string, type: string, body: string][] = [
      [`/v1/ingest?key=${listed.browserKey}`, 'text/plain', JSON.stringify({ events: [newEvent()] })],
      [`/v1/form?key=${listed.browserKey}`, 'application/x-www-form-urlencoded', '_form_id=contact'],
      [`/v1/engage?key=${listed.browserKey}`, 'text/plain', '{}'],
      ['/e/', 'text/plain', event],
      ['/flags/', 'text/plain', event],
      ['/v1/batch', 'text/plain', `{"writeKey":"${listed.browserKey}","batch":[{"type":"page","userId":"u"}]}`],
    ];
    const headers = { 'user-agent': CHROME, 'sec-fetch-site': 'cross-site', referer };
    const answers = sent.map(([path, type, body]) =>
      fetch(`${listed.url}${path}`, { method: 'POST', body, headers: { ...headers, 'content-type': type } }),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  expect(await statuses('https://elsewhere.example/')).toEqual([403, 403, 403, 403, 403, 403]);
  expect(await statuses('https://shop.example/')).toEqual([200, 404, 204, 200, 200, 200]);
  await listed.close();
});

test('a server key that a page’s image shows is refused', async () => {
  const headers = { 'sec-fetch-site': 'cross-site', referer: 'https://shop.example/' };
  const answer = await post(edge.serverKey, headers);
  expect(answer).toMatchObject({ status: 403, body: { error: { code: 'key_not_for_browsers' } } });
});

test.each(['/v1/ingest', '/v1/batch', '/v1/engage', '/v1/form'])(
  '%s is told of two keys in its query',
  async (path) => {
    const url = `${edge.url}${path}?key=${edge.browserKey}&key=${edge.browserKey}`;
    const answer = await fetch(url, { method: 'POST', body: '{}' });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('"key_repeated"')]);
    const withHeader = await fetch(url, { method: 'POST', body: '{}', headers: { 'x-svc-key': edge.browserKey } });
    expect(await withHeader.text()).not.toContain('key_repeated');
  },
);
