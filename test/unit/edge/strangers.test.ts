import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';

let edge: TestEdge;
afterEach(async () => {
  expect(edge.unknown).toEqual([]);
  await edge.close();
});

const MIB = 1024 * 1024;

const zipped = (text: string) => new Uint8Array(gzipSync(text));
const GZIP = { 'content-encoding': 'gzip', 'content-type': 'application/json' };

test('who sends many bodies without a key is told to wait, before they are looked at', async () => {
  edge = await startEdge({ strangersMax: 3 });
  const event = (key: string) => JSON.stringify({ event: 'Seen', distinct_id: 'p', api_key: key });
  for (let times = 1; times <= 4; times++) {
    expect(await post(edge, '/e/', event('guess'))).toMatchObject({ status: 403 });
  }
  const limited = await post(edge, '/batch/', event('guess'));
  expect(limited).toMatchObject({ status: 429, body: { type: 'throttled_error' } });
  expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await post(edge, '/flags/', event(edge.browserKey))).toMatchObject({ status: 429 });
  // A key that is seen without the body is let in all the same.
  expect(await post(edge, `/e/?key=${edge.serverKey}`, event('guess'))).toMatchObject({ status: 200 });
});

test('valid keys in bodies are never counted', async () => {
  edge = await startEdge({ strangersMax: 1 });
  for (let times = 0; times < 20; times++) {
    const body = JSON.stringify({ batch: [{ event: 'Seen', distinct_id: 'p' }], sentAt: 'x', api_key: edge.serverKey });
    expect(await post(edge, '/batch/', body)).toMatchObject({ status: 200 });
  }
});

test('a stranger’s body may become no larger than 64 times what was sent', async () => {
  edge = await startEdge();
  const text = `{"batch":["${'x'.repeat(900_000)}"],"api_key":"${edge.serverKey}"}`;
  expect(await post(edge, '/batch/', zipped(text), GZIP)).toMatchObject({ status: 413 });
  expect(await post(edge, '/batch/', text)).toMatchObject({ status: 400, body: { code: 'events_rejected' } });
});

/** About 500 characters that hardly compress. */
const noise = (seed: number): string =>
  Array.from({ length: 12 }, (_, n) => hash('sha256', `${seed} ${n}`, 'base64')).join('');

test('a large batch with its key at the end is taken whole', async () => {
  edge = await startEdge();
  const batch = Array.from({ length: 2_000 }, (_, n) => ({
    event: 'Seen',
    uuid: `id-${n}`,
    distinct_id: `p${n}`,
    properties: { text: `{"[,\\" ${noise(n)}` },
  }));
  const body = JSON.stringify({ batch, sentAt: new Date().toISOString(), api_key: edge.serverKey });
  expect(body.length).toBeGreaterThan(MIB);
  expect(await post(edge, '/batch/', zipped(body), GZIP)).toMatchObject({ status: 200 });
  expect(edge.records.flat().map(({ event_id }) => event_id)).toEqual(batch.map(({ uuid }) => uuid));
});
