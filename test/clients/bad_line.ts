// A bad line between a client and the service, the same for the same seed: a proxy that resets, delays, swallows and repeats,
// and answers in the service's place as proxies, portals and a busy service do.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { chanceOf } from '#test/harness/hostile/random.ts';

/** What happens to a request. `lost`: the service got it, and its answer does not arrive. */
const FATES = {
  pass: 60,
  reset: 6,
  delayed: 5,
  silent: 1,
  limited: 6,
  busy: 6,
  portal: 5,
  redirect: 2,
  lost: 5,
  cut: 2,
  repeated: 2,
} as const;
type Fate = keyof typeof FATES;

export interface BadLine {
  url: string;
  /** How often each came. */
  readonly fates: Readonly<Record<Fate, number>>;
  close(): Promise<void>;
}

const DELAY_MS = 150;

/** @param service Address of the edge. */
export async function startBadLine(service: string, seed: number): Promise<BadLine> {
  const { next: random } = chanceOf(seed);
  const fates: Record<Fate, number> = { ...FATES };
  for (const fate of Object.keys(FATES) as Fate[]) fates[fate] = 0;
  const server = createServer((request, response) => {
    const fate = draw(random());
    fates[fate] += 1;
    suffer(fate, request, response).catch(() => response.destroy());
  });

  async function forward(request: IncomingMessage, body: Buffer): Promise<{ status: number; text: string }> {
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const sent = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
    const answer = await fetch(`${service}${request.url}`, {
      method: 'POST',
      headers: sent,
      body: Uint8Array.from(body),
    });
    return { status: answer.status, text: await answer.text() };
  }

  async function suffer(fate: Fate, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fate === 'reset') {
      request.destroy();
      return;
    }
    const body = await buffer(request);
    switch (fate) {
      case 'silent':
        return;
      case 'limited':
        response.writeHead(429, { 'retry-after': random() < 0.1 ? '1' : '0' }).end('Too many requests');
        return;
      case 'busy':
        response.writeHead(503, { 'retry-after': '0' }).end('<h1>503</h1>');
        return;
      case 'portal':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Accept our terms</html>');
        return;
      case 'redirect':
        response.writeHead(302, { location: 'http://portal.example/' }).end();
        return;
      case 'delayed':
        await sleep(random() * DELAY_MS);
        break;
      case 'repeated':
        await forward(request, body);
        break;
      case 'pass':
      case 'lost':
      case 'cut':
        break;
    }
    const answer = await forward(request, body);
    if (fate === 'lost') {
      response.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-length': Buffer.byteLength(answer.text) });
    if (fate === 'cut') {
      response.write(answer.text.slice(0, 5), () => response.destroy());
      return;
    }
    response.end(answer.text);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fates,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function draw(chance: number): Fate {
  let left = chance * Object.values(FATES).reduce((sum, share) => sum + share, 0);
  for (const [fate, share] of Object.entries(FATES)) {
    left -= share;
    if (left < 0) return fate as Fate;
  }
  return 'pass';
}
