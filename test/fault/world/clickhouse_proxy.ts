import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readClickhouseAddress } from '#infra/clickhouse/servers.ts';

/**
 * What the proxy does to a request: passes it on; passes it on late; answers with ClickHouse's memory error without
 * asking it; or passes it on and keeps the answer, so that the client cannot know what was written.
 */
export type ProxyMode = { kind: 'pass' } | { kind: 'slow'; delayMs: number } | { kind: 'erroring' } | { kind: 'mute' };

export interface ClickhouseProxy {
  /** The address the warehouse process is given. */
  url: string;
  set(mode: ProxyMode): void;
  /** Requests that met anything but `pass`. */
  disturbed(): number;
  stop(): Promise<void>;
}

const MEMORY_ERROR = 'Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)\n';

/** Stands between the warehouse stage and ClickHouse on loopback; of several servers before the first. */
export async function startClickhouseProxy(clickhouseUrl: string): Promise<ClickhouseProxy> {
  const target = new URL(readClickhouseAddress(clickhouseUrl)[0]);
  let mode: ProxyMode = { kind: 'pass' };
  let disturbed = 0;

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const now = mode;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    if (now.kind !== 'pass') disturbed++;
    if (now.kind === 'slow') await sleep(now.delayMs);
    if (now.kind === 'erroring') {
      outgoing.writeHead(500, { 'x-clickhouse-exception-code': '241' });
      outgoing.end(MEMORY_ERROR);
      return;
    }
    const answer = await pass(target, incoming, Buffer.concat(chunks));
    if (now.kind === 'mute') {
      outgoing.destroy();
      return;
    }
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: clickhouseUrl.replace(target.host, `${target.hostname}:${port}`),
    set(next) {
      mode = next;
    },
    disturbed: () => disturbed,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Answer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

function pass(target: URL, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  const { connection: _hop, 'transfer-encoding': _coding, ...headers } = incoming.headers;
  const options = {
    host: target.hostname,
    port: target.port,
    method: incoming.method,
    path: incoming.url,
    headers: { ...headers, host: target.host, 'content-length': String(body.length) },
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 502, headers: passable(response), body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function passable(response: IncomingMessage): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(response.headers).flatMap(([name, value]) =>
      value === undefined || name === 'transfer-encoding' || name === 'connection' || name === 'keep-alive'
        ? []
        : [[name, value]],
    ),
  );
}
