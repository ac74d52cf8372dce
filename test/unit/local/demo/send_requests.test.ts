import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { type RequestOutcome, sendAll } from '#services/local/demo/send_requests.ts';
import type { DemoRequest } from '#services/local/demo/world/demo_event.ts';

interface Seen {
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}
type Answer = (seen: Seen, nth: number, response: ServerResponse) => void;

const running: (() => void)[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop();
});

async function startEdge(answer: Answer): Promise<{ edge: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
      seen.push(call);
      answer(call, seen.length, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  running.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { edge: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const SITE = { site: 's', browserKey: 'svc_pk_b', serverKey: 'svc_sk_s' };
const accept: Answer = (_seen, _nth, response) => response.end(JSON.stringify({ accepted: 1 }));

const busy: Answer = (_seen, _nth, response) => response.writeHead(503, { 'retry-after': '4' }).end('{}');
const broken: Answer = (_seen, _nth, response) => void response.destroy();

function requestOf(over: Partial<DemoRequest> = {}): DemoRequest {
  const expected = { status: 200, accepted: 1, rejected: 0, dropped: 0 };
  const headers = { 'content-type': 'application/json' };
  return {
    siteSlot: 'shop',
    caller: 'browser',
    keyIn: 'header',
    headers,
    body: '{"events":[1]}',
    eventCount: 1,
    expect: expected,
    ...over,
  };
}

async function send(edge: string, requests: DemoRequest[]): Promise<{ outcomes: RequestOutcome[]; waits: number[] }> {
  const outcomes: RequestOutcome[] = [];
  const waits: number[] = [];
  let clock = 0;
  await sendAll(requests, {
    edge,
    sites: { shop: SITE, travel: { ...SITE, browserKey: 'svc_pk_t' } },
    concurrency: 2,
    giveUpAfterMs: 10_000,
    random: () => 0,
    wait: async (ms) => {
      waits.push(ms);
      clock += ms;
      await Promise.resolve();
    },
    now: () => clock,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  return { outcomes, waits };
}

describe('sendAll', () => {
  it('sends every request once and reports each', async () => {
    const { edge, seen } = await startEdge(accept);
    const { outcomes } = await send(
      edge,
      Array.from({ length: 25 }, () => requestOf()),
    );
    expect(seen.length).toBe(25);
    expect(outcomes.map(({ surprise, tries }) => [surprise, tries])).toEqual(
      Array.from({ length: 25 }, () => [null, 1]),
    );
  });

  it('sends the key of the site and caller, in the header or in the query', async () => {
    const { edge, seen } = await startEdge(accept);
    await send(edge, [requestOf(), requestOf({ caller: 'server' }), requestOf({ siteSlot: 'travel', keyIn: 'query' })]);
    const keys = seen.map(({ url, headers }) => `${url} ${String(headers['x-svc-key'] ?? '-')}`);
    expect(keys.toSorted()).toEqual(['/v1/ingest svc_pk_b', '/v1/ingest svc_sk_s', '/v1/ingest?key=svc_pk_t -']);
  });

  it('compresses what is declared compressed', async () => {
    const { edge, seen } = await startEdge(accept);
    await send(edge, [requestOf({ headers: { 'content-encoding': 'gzip' } })]);
    expect(gunzipSync(seen[0]?.body ?? Buffer.alloc(0)).toString()).toBe('{"events":[1]}');
  });

  it('sends the same body again after 503, 429 and a broken connection, as late as asked', async () => {
    const { edge, seen } = await startEdge((_call, nth, response) => {
      if (nth === 1) response.writeHead(503, { 'retry-after': '2' }).end('{}');
      else if (nth === 2) response.destroy();
      else if (nth === 3) response.writeHead(429, { 'retry-after': '1' }).end('{}');
      else response.end(JSON.stringify({ accepted: 1 }));
    });
    const { outcomes, waits } = await send(edge, [requestOf({ headers: { 'content-encoding': 'gzip' } })]);
    expect(outcomes).toMatchObject([{ surprise: null, tries: 4 }]);
    expect(waits).toEqual([2000, 100, 1000]);
    expect(new Set(seen.map(({ body }) => body.toString('hex'))).size).toBe(1);
  });

  it.each([
    { title: 'refuses for too long', answer: busy, last: 'answered 503' },
    { title: 'breaks every connection', answer: broken, last: 'gave no answer' },
  ])('gives up on an edge that $title, and sends nothing more', async ({ answer, last }) => {
    const { edge, seen } = await startEdge(answer);
    const requests = Array.from({ length: 50 }, () => requestOf());
    await expect(send(edge, requests)).rejects.toMatchObject({
      code: 'edge_away',
      message: expect.stringContaining(last),
    });
    expect(seen.length).toBeLessThan(40);
  });
});
