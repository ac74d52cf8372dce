import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge } = service.ready;
const EVENTS_MAX = 50;
const BODY_BYTES_MAX = 256 * 1024;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

const events = (count: number) => Array.from({ length: count }, () => newEvent());

/** A body of exactly so many bytes. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify({ events: [newEvent()] });
  return body + ' '.repeat(bytes - body.length);
}

test('50 events are taken, 51 get 413', async () => {
  expect(await postEvents(edge, site.serverKey, events(EVENTS_MAX))).toMatchObject({
    status: 200,
    body: { accepted: EVENTS_MAX },
  });
  expect(await postEvents(edge, site.serverKey, events(EVENTS_MAX + 1))).toMatchObject({
    status: 413,
    body: { error: { code: 'events_too_many' } },
  });
});

test('256 KiB are taken, a byte more gets 413', async () => {
  expect(await postBody(edge, site.serverKey, bodyOf(BODY_BYTES_MAX))).toMatchObject({ status: 200 });
  expect(await postBody(edge, site.serverKey, bodyOf(BODY_BYTES_MAX + 1))).toMatchObject({
    status: 413,
    body: { error: { code: 'body_too_large' } },
  });
});

test('a body of unsaid length that grows too large gets 413', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { 'x-svc-key': site.serverKey, 'content-type': 'application/json' };
    const sent = request(`${edge}/v1/ingest`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.write(bodyOf(BODY_BYTES_MAX));
    sent.end(' ');
  });
  expect(status).toBe(413);
});
