import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Ledger } from './acceptance_ledger.ts';
import { answerAdmin } from './admin.ts';
import type { Fault, Script } from './fault_script.ts';
import type { PlatformAnswer, PlatformRequest } from './http_exchange.ts';

/** What a platform does with a request, as a function. */
export interface Platform {
  /** The scope and token by which a script picks requests. */
  scopeOf(request: PlatformRequest): { scope: string; token: string | null };
  answer(request: PlatformRequest, nowMs: number): PlatformAnswer;
  /** The platform's own way to say that there were too many requests; a plain 429 where it is left out. */
  throttled?(retryAfterS: number | null): PlatformAnswer;
  /** The answer of a scripted Graph API error; platforms that have none answer it as a plain status. */
  graphError?(fault: Extract<Fault, { kind: 'graph_error' }>): PlatformAnswer;
}

export interface Standin {
  url: string;
  port: number;
  ledger: Ledger;
  script: Script;
  /** Requests received and answered as the platform would, or as the script says; newest last, the last 1000. */
  requests: PlatformRequest[];
  stop(): Promise<void>;
}

export interface StandinOptions {
  /** Accounts (pixels, datasets) there are, each with the tokens that may send to it; null (the default) takes all. */
  accounts?: Readonly<Record<string, readonly string[]>> | null;
  /** File that keeps the ledger over restarts; null (the default) keeps it in memory. */
  ledgerPath?: string | null;
  /** 0, the default, takes a free one. */
  port?: number;
  nowMs?: () => number;
  /** Ids of events that the platform finds fault with, whatever they hold. */
  refusedIds?: ReadonlySet<string>;
}

const HOST = '127.0.0.1';
const REQUESTS_KEPT = 1000;
const BODY_BYTES_MAX = 4_000_000;

const HTML_PAGE =
  '<!DOCTYPE html><html><head><title>Error</title></head><body>Sorry, something went wrong.</body></html>';

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return bytes > BODY_BYTES_MAX ? null : Buffer.concat(chunks).toString('utf8');
}

const plainThrottle = (seconds: number | null): PlatformAnswer => ({
  status: 429,
  headers: seconds === null ? {} : { 'retry-after': String(seconds) },
  body: '',
});

function faultAnswer(platform: Platform, fault: Fault): PlatformAnswer | null {
  switch (fault.kind) {
    case 'status':
      return { status: fault.status, headers: fault.headers ?? {}, body: fault.body ?? '' };
    case 'graph_error':
      return platform.graphError?.(fault) ?? { status: fault.status ?? 400, body: '' };
    case 'throttle':
      return (platform.throttled ?? plainThrottle)(fault.retry_after_s ?? null);
    case 'html':
      return { status: 500, headers: { 'content-type': 'text/html; charset=utf-8' }, body: HTML_PAGE };
    case 'none':
    case 'accept_then_reset':
    case 'hang':
    case 'reset':
      return null;
  }
}

/**
 * Starts a platform's stand-in on loopback. Paths below `/_standin/` are for whoever directs it: see `answerAdmin`.
 *
 * @throws the listen error, as EADDRINUSE.
 */
export async function startStandin(
  platform: Platform,
  ledger: Ledger,
  script: Script,
  options: StandinOptions,
): Promise<Standin> {
  const nowMs = options.nowMs ?? Date.now;
  const requests: PlatformRequest[] = [];

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await readBody(incoming);
    const request: PlatformRequest = {
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
      body: body ?? '',
    };
    if (body === null) return send(outgoing, { status: 413, body: '' });
    const admin = answerAdmin(request, { ledger, script, requests });
    if (admin !== null) return send(outgoing, admin);
    requests.push(request);
    if (requests.length > REQUESTS_KEPT) requests.shift();
    await act(request, outgoing);
  }

  async function act(request: PlatformRequest, outgoing: ServerResponse): Promise<void> {
    const { scope, token } = platform.scopeOf(request);
    const rule = script.take(scope, token);
    if (rule?.delay_ms !== undefined) await wait(rule.delay_ms);
    if (rule?.fault.kind === 'hang') return;
    if (rule?.fault.kind === 'reset') return void outgoing.destroy();
    const answer = (rule === null ? null : faultAnswer(platform, rule.fault)) ?? platform.answer(request, nowMs());
    if (answer.accepted !== undefined) ledger.accept(answer.accepted);
    if (rule?.fault.kind === 'accept_then_reset') outgoing.destroy();
    else send(outgoing, answer);
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, options.port ?? 0);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://${HOST}:${port}`, port, ledger, script, requests, stop: () => stop(server) };
}

function send(outgoing: ServerResponse, answer: PlatformAnswer): void {
  const type = answer.body.startsWith('{') ? 'application/json; charset=UTF-8' : 'text/plain';
  outgoing.writeHead(answer.status, { 'content-type': type, ...answer.headers });
  outgoing.end(answer.body);
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => resolve());
  });

const stop = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
