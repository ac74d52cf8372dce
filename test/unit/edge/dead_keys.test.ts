import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent } from '#test/harness/ingest.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { apiKey } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.close());

const EVENTS = { events: [newEvent()] };
const CALL = { type: 'track', event: 'x', userId: 'u' };
/** Every kind of route that takes a key, each asking for it in its own way. */
const ROUTES: readonly [path: string, body: ((key: string) => object) | null][] = [
  ['/v1/ingest', () => EVENTS],
  ['/v1/inventory', () => ({ page: '/', url: 'https://shop.example/', title: '', elements: [] })],
  ['/v1/config', null],
  ['/v1/engage', () => ({ url: 'https://shop.example/', distinct_id: 'v' })],
  ['/batch', (api_key) => ({ api_key, batch: [{ event: 'x', distinct_id: 'v' }] })],
  ['/flags', (api_key) => ({ api_key, distinct_id: 'v' })],
  ['/v1/track', (writeKey) => ({ ...CALL, writeKey })],
  ['/g/collect?v=2&cid=1.1&en=page_view', () => ({})],
];

test.for(ROUTES)('a key that has expired, or was revoked, opens nothing: %s', async ([path, bodyOf]) => {
  const ask = async (key: string) => {
    const headers = { 'content-type': 'application/json', 'x-svc-key': key };
    const body = bodyOf === null ? {} : { method: 'POST', body: JSON.stringify(bodyOf(key)) };
    return (await fetch(edge.url + path, { headers, ...body })).status;
  };
  const change = (changes: object): void => {
    const key_hash = createHash('sha256').update(edge.serverKey).digest('hex');
    put(edge.table, { key: apiKey({ key_hash, caller: 'server', ...changes }) });
  };
  change({});
  expect(await ask(edge.serverKey)).toBeLessThan(400);
  const taken = edge.records.length;
  change({ expires_at: Date.now() - 1 });
  expect(await ask(edge.serverKey)).toBe(403);
  change({ revoked_at: Date.now() - 1 });
  expect(await ask(edge.serverKey)).toBe(403);
  expect(edge.records.length).toBe(taken);
});
