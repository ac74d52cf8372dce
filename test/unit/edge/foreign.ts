import { gzipSync } from 'node:zlib';
import { readAnswer } from '#test/harness/ingest.ts';
import type { TestEdge } from './edge.ts';

type Answer = Awaited<ReturnType<typeof readAnswer>>;

/** A batch as @segment/analytics-node 3.1.0 sends it. */
export function segmentBatch(edge: TestEdge, batch: unknown[], key = edge.serverKey): Promise<Answer> {
  return segmentCall(edge, '/v1/batch', { batch, writeKey: key, sentAt: new Date().toISOString() }, key);
}

export function segmentCall(edge: TestEdge, path: string, body: unknown, key = edge.serverKey): Promise<Answer> {
  return post(edge, path, JSON.stringify(body), {
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    'user-agent': 'analytics-node-next/latest',
    'sec-fetch-mode': 'cors',
  });
}

/** A batch as posthog-node 5.70.0 sends it. */
export function posthogBatch(edge: TestEdge, batch: unknown[], key = edge.serverKey): Promise<Answer> {
  const body = { api_key: key, batch, sent_at: new Date().toISOString() };
  return post(edge, '/batch/', new Uint8Array(gzipSync(JSON.stringify(body))), {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'user-agent': 'posthog-node/5.70.0',
    'sec-fetch-mode': 'cors',
  });
}

export async function post(
  edge: TestEdge,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return readAnswer(await fetch(`${edge.url}${path}`, { method: 'POST', body, headers }));
}
