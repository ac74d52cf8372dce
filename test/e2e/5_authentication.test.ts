import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge } = service.ready;
const ALLOWED = 'https://shop.example';
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { browserKeyWords: ['--origin', ALLOWED] });
});
afterAll(() => site.close());

const refusal = (status: number, code: string): object => ({
  status,
  body: { error: { code, message: expect.any(String) } },
});

const post = (key: string | null, headers: Record<string, string> = {}) =>
  postBody(edge, key, JSON.stringify({ events: [newEvent()] }), { 'user-agent': BROWSER, ...headers });

test('no key gets 401', async () => {
  expect(await post(null)).toMatchObject(refusal(401, 'key_missing'));
});

test('an unknown key gets 403, well formed or not', async () => {
  expect(await post(`svc_sk_${'0'.repeat(32)}`)).toMatchObject(refusal(403, 'key_invalid'));
  expect(await post('guess')).toMatchObject(refusal(403, 'key_invalid'));
});

test('a stranger is refused before his body is looked at', async () => {
  const tooMany = Array.from({ length: 51 }, () => newEvent());
  expect(await postEvents(edge, null, tooMany)).toMatchObject({ status: 401 });
  expect(await postBody(edge, 'guess', 'no JSON', { 'content-type': 'image/png' })).toMatchObject({ status: 403 });
});

test('the key may stand in the query', async () => {
  const response = await fetch(`${edge}/v1/ingest?key=${site.serverKey}`, {
    method: 'POST',
    body: JSON.stringify({ events: [newEvent()] }),
    headers: { 'content-type': 'text/plain' },
  });
  expect([response.status, await response.json()]).toEqual([200, { accepted: 1 }]);
});

test('a browser key is bound to its origins', async () => {
  expect(await post(site.browserKey, { origin: ALLOWED })).toMatchObject({ status: 200, body: { accepted: 1 } });
  expect(await post(site.browserKey)).toMatchObject({ status: 200, body: { accepted: 1 } });
  const refused = refusal(403, 'origin_not_allowed');
  expect(await post(site.browserKey, { origin: 'https://evil.example' })).toMatchObject(refused);
  expect(await post(site.browserKey, { origin: 'null' })).toMatchObject(refused);
});

test('a server key is refused from a browser', async () => {
  expect(await post(site.serverKey, { origin: ALLOWED })).toMatchObject(refusal(403, 'key_not_for_browsers'));
});

test('CORS is open, and a refusal can be read by the page too', async () => {
  const preflight = await fetch(`${edge}/v1/ingest`, {
    method: 'OPTIONS',
    headers: {
      origin: ALLOWED,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-svc-key',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('x-svc-key');
  const refused = await post(null, { origin: ALLOWED });
  expect(refused.headers.get('access-control-allow-origin')).toBe('*');
});
