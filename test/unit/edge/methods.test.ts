import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { sendLines, statusIn } from '#test/harness/raw_request.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.close());

const ask = async (method: string, path: string, headers: Record<string, string> = {}) =>
  readAnswer(await fetch(`${edge.url}${path}`, { method, headers }));

test.each([
  { method: 'GET', path: '/v1/ingest', allow: 'OPTIONS, POST' },
  { method: 'DELETE', path: '/v1/ingest?key=x', allow: 'OPTIONS, POST' },
  { method: 'POST', path: '/v1/config', allow: 'GET, HEAD, OPTIONS' },
  { method: 'PUT', path: '/v1/health', allow: 'GET, HEAD, OPTIONS' },
  { method: 'GET', path: '/v1/batch', allow: 'OPTIONS, POST' },
  { method: 'GET', path: '/batch/', allow: 'OPTIONS, POST' },
])('$method $path: 405 with what is allowed', async ({ method, path, allow }) => {
  const answer = await ask(method, path);
  expect(answer).toMatchObject({ status: 405, body: { error: { code: 'method_not_allowed' } } });
  expect(answer.headers.get('allow')).toBe(allow);
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
});

test.each(['/', '/v2/ingest', '/v1/ingest/', '/v1/constructor', '/v1/%69ngest%00'])('%s: 404', async (path) => {
  expect(await ask('GET', path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
});

test('a URL that cannot be read: 400 that does not repeat it', async () => {
  const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(`${edge.url}/`, { path: '/v1/%zz?key=secret' }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    sent.on('error', reject).end();
  });
  expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([400, 'request_malformed']);
  expect(answer.text).not.toContain('secret');
});

test.each([
  ['two hosts', ['Host: shop.example', 'Host: other.example']],
  ['no host', []],
])('a request for %s: 400', async (_, hosts) => {
  const answer = await sendLines(Number(new URL(edge.url).port), ['GET /v1/health HTTP/1.1', ...hosts]);
  expect(statusIn(answer)).toBe(400);
  expect(JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)).error.code).toBe(
    'request_malformed',
  );
});

test.each([
  [
    'an address beyond 16 KiB',
    [`GET /g/collect?x=${'y'.repeat(20_000)} HTTP/1.1`, 'Host: a'],
    431,
    'headers_too_large',
  ],
  ['what is no HTTP', ['HELLO'], 400, 'request_malformed'],
  [
    'an expectation that there is not',
    ['POST /v1/ingest HTTP/1.1', 'Host: a', 'Expect: nonsense'],
    417,
    'expectation_failed',
  ],
])('%s is answered in the form of all refusals', async (_, lines, status, code) => {
  const answer = await sendLines(Number(new URL(edge.url).port), lines);
  expect(statusIn(answer)).toBe(status);
  const { error } = JSON.parse(answer.slice(answer.indexOf('{'))) as { error: object };
  expect(error).toEqual({ code, message: expect.stringMatching(/\.$/) });
});

test('HEAD answers as GET, without a body', async () => {
  const head = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${edge.url}${path}`, { method: 'HEAD', headers });
  const config = await head('/v1/config', { 'x-svc-key': edge.serverKey });
  expect([config.status, await config.text()]).toEqual([200, '']);
  expect(config.headers.get('etag')).toMatch(/^"/);
  expect((await head('/v1/config')).status).toBe(401);
  expect((await head('/v1/health')).status).toBe(200);
  expect((await head('/v1/tls-check?domain=shop.example')).status).toBe(200);
});

test('a preflight is answered without a key, for every header the intakes read', async () => {
  const answer = await ask('OPTIONS', '/v1/batch', {
    origin: 'https://shop.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-svc-key',
  });
  expect(answer.status).toBe(204);
  const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
  expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'x-svc-key', 'content-encoding']));
  expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(answer.headers.get('access-control-max-age')).toBe('86400');
  expect(answer.headers.get('allow')).toBe('OPTIONS, POST');
});

test.each(['QUERY', 'PROPFIND', 'TRACE', 'LINK', 'M-SEARCH'])(
  '%s: nobody’s method is refused, and nothing breaks',
  async (method) => {
    for (const path of ['/v1/config', '/v1/ingest', '/batch/', '/docs']) {
      const answer = await new Promise<unknown[]>((resolve, reject) => {
        const sent = request(`${edge.url}${path}`, { method, headers: { 'x-svc-key': edge.serverKey } }, (response) => {
          response.resume();
          resolve([response.statusCode, typeof response.headers.allow]);
        });
        sent.on('error', reject).end();
      });
      expect([path, ...answer]).toEqual([path, 405, 'string']);
    }
    expect(edge.unknown).toEqual([]);
  },
);
