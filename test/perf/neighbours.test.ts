import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EDGE_NODE_ARGS } from '#services/local/start/processes.ts';
import { startChild } from '#test/bench/edge/child.ts';
import { withEdgeParts } from '#test/bench/edge_alone.ts';
import { newEvent } from '#test/harness/ingest.ts';

/** One request each so often, by itself, of a shop that has nothing to do with who troubles the edge. */
const EVERY_MS = 15;
const SAMPLES = 600;
const STALLED = 100;
const FLOODING = 16;
/** An address of loopback that is not the neighbour's. */
const ATTACKER = '127.0.0.2';
const TIMES_MAX = 2;
/** Below this nobody sees a difference, and a machine's moods are as long. */
const MS_MIN = 10;

interface Sent {
  url: string;
  key: string;
  path: string;
  body: string;
  agent: Agent;
}

function send({ url, key, path, body, agent }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-svc-key': key, 'content-length': Buffer.byteLength(body) };
    request(`${url}${path}`, { method: 'POST', agent, headers }, (response: IncomingMessage) =>
      response.resume().on('end', () => resolve(response.statusCode ?? 0)),
    )
      .on('error', reject)
      .end(body);
  });
}

/** The 99th hundredth of how long the neighbour's requests take, of which each is answered 200. */
async function p99Ms(url: string, key: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const tookMs: number[] = [];
  for (let count = 0; count < SAMPLES; count += 1) {
    const startedMs = performance.now();
    const body = JSON.stringify({ events: [newEvent({ distinct_id: `neighbour-${count}` })] });
    expect(await send({ url, key, path: '/v1/ingest', body, agent })).toBe(200);
    tookMs.push(performance.now() - startedMs);
    await sleep(EVERY_MS);
  }
  agent.destroy();
  return tookMs.sort((a, b) => a - b)[Math.floor(SAMPLES * 0.99)] ?? Number.NaN;
}

function stall(url: string, key: string): () => void {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = Array.from({ length: STALLED }, () => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKER });
    socket.on('error', () => undefined);
    const head = `POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-Svc-Key: ${key}\r\nContent-Type: application/json`;
    socket.write(`${head}\r\nContent-Length: 900000\r\n\r\n{"events":[`);
    return socket;
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

function flood(edge: string, key: string): () => Map<number, number> {
  const agent = new Agent({ keepAlive: true, maxSockets: FLOODING, localAddress: ATTACKER });
  const statuses = new Map<number, number>();
  let isOver = false;
  let pages = 0;
  const one = async (): Promise<void> => {
    while (!isOver) {
      const elements = Array.from({ length: 50 }, (_, at) => ({
        type: 'button',
        text: `Buy ${at}`,
        selector: `#b${at}`,
      }));
      const url = `https://shop.example/p/${pages++}`;
      const body = JSON.stringify({ page: url, url, title: 'A page', elements });
      const status = await send({ url: edge, key, path: '/v1/inventory', body, agent }).catch(() => 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const flooding = Array.from({ length: FLOODING }, one);
  return () => {
    isOver = true;
    void Promise.all(flooding).then(() => agent.destroy());
    return statuses;
  };
}

test('stalled uploads and a flood of inventories from one address leave another key’s requests within twice their time', {
  timeout: 300_000,
}, async () => {
  await withEdgeParts(
    async () => undefined,
    async ({ env, shop }) => {
      const limited = { ...env, RATE_LIMIT_KEY: '1000' };
      const edge = await startChild('../../../services/edge/main.ts', [], limited, EDGE_NODE_ARGS);
      await p99Ms(edge.url, shop.serverKey);
      const aloneMs = await p99Ms(edge.url, shop.serverKey);
      const endStall = stall(edge.url, shop.browserKey);
      const stalledMs = await p99Ms(edge.url, shop.serverKey);
      endStall();
      const endFlood = flood(edge.url, shop.browserKey);
      const floodedMs = await p99Ms(edge.url, shop.serverKey);
      const statuses = endFlood();
      await edge.stop();
      console.log(
        `p99, ms: alone ${aloneMs.toFixed(1)}, stalled ${stalledMs.toFixed(1)}, flooded ${floodedMs.toFixed(1)}`,
      );
      console.log('answers to the flood', Object.fromEntries(statuses));
      const mostMs = TIMES_MAX * Math.max(aloneMs, MS_MIN);
      expect(stalledMs).toBeLessThanOrEqual(mostMs);
      expect(floodedMs).toBeLessThanOrEqual(mostMs);
    },
  );
});
