// Requests to destinations: guarded, bounded, with a stable reason for each failure.

import { lookup } from 'node:dns/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import type { Answer, HttpRequest, NoAnswerReason } from '#pipelines/delivery/contract.ts';
import {
  type FetchedScript,
  type FetchScript,
  isScriptType,
  type LoaderVendor,
  type ScriptFailure,
} from '#pipelines/tag/vendor_scripts.ts';
import { type GuardPolicy, guardedLookup, isUrlAllowed, type Resolve } from './ssrf_guard.ts';

export interface EgressOptions extends GuardPolicy {
  connectionsMax: number;
  /** The longest that connecting may take; the whole call has the deadline that is given with it. */
  connectTimeoutMs: number;
  keepAliveMs: number;
}

export const EGRESS_DEFAULTS: EgressOptions = {
  allowHttp: false,
  allowLoopback: false,
  connectionsMax: 16,
  connectTimeoutMs: 5_000,
  keepAliveMs: 30_000,
};

export type Egress = ReturnType<typeof createEgress>;

/** How much of an answer is read; the rest is not waited for. */
const ANSWER_BYTES_MAX = 65_536;

const resolveAll: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * Calls destinations over connections that are kept alive. A redirect is an answer like any other and is not followed. A
 * request that is not trusted (its URL comes from a site's settings) goes only to the public internet over https, unless the
 * options allow more.
 *
 * @param resolve resolves names for untrusted requests; the system's resolver unless a test brings another.
 */
export function createEgress(options: EgressOptions, resolve: Resolve = resolveAll) {
  const trusted = agentOf(options, {});
  const guarded = agentOf(options, { lookup: guardedLookup(resolve, options) });
  return {
    /** Makes one call. Never rejects: that there was no answer is an Answer too. */
    send: async (request: HttpRequest, timeoutMs: number): Promise<Answer> => {
      if (!URL.canParse(request.url)) return { kind: 'no_answer', reason: 'address_refused' };
      const url = new URL(request.url);
      if (!request.trusted && !isUrlAllowed(url, options)) return { kind: 'no_answer', reason: 'address_refused' };
      return exchange(request.trusted ? trusted : guarded, url, request, timeoutMs);
    },
    /** Ends open connections; calls under way are aborted. */
    close: async (): Promise<void> => {
      await Promise.all([trusted.destroy(), guarded.destroy()]);
    },
  };
}

function agentOf(options: EgressOptions, connect: object): Agent {
  return new Agent({
    connections: options.connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: options.keepAliveMs,
    keepAliveMaxTimeout: options.keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.connectTimeoutMs, ...connect },
  });
}

async function exchange(agent: Agent, url: URL, request: HttpRequest, timeoutMs: number): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { method, headers, body } = request;
    const path = url.pathname + url.search;
    const response = await agent.request({ origin: url.origin, path, method, headers, body, signal });
    return {
      kind: 'answered',
      status: response.statusCode,
      headers: flatHeaders(response.headers),
      body: await readCapped(response.body),
    };
  } catch (error) {
    return { kind: 'no_answer', reason: signal.aborted ? 'timeout' : reasonOf(error) };
  }
}

function flatHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** The text of a body, up to the limit. If the body breaks off or stalls, what came of it: the status is enough. */
async function readCapped(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES_MAX) break;
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString('utf8');
}

const REASON_BY_CODE: Record<string, NoAnswerReason> = {
  address_refused: 'address_refused',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EADDRNOTAVAIL: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_INVALID_ARG: 'invalid_request',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ENODATA: 'dns',
  EPROTO: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
};

const DNS_CODE = /^EAI_/;
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|UNABLE_TO_|ERR_OSSL)/;

/** The first error that has a code: Node wraps the failures of several addresses in one error. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}

/** Why a call got no answer; `reset` if the connection broke in any other way. */
function reasonOf(error: unknown): NoAnswerReason {
  const code = codeOf(error);
  const known = REASON_BY_CODE[code];
  if (known !== undefined) return known;
  if (DNS_CODE.test(code)) return 'dns';
  return TLS_CODE.test(code) ? 'tls' : 'reset';
}

export interface ScriptFetchOptions {
  /** The base URL of each vendor: nothing of a request has a part in it. */
  vendors: Readonly<Record<LoaderVendor, string>>;
  timeoutMs: number;
  /** Of the script, decoded. */
  bytesMax: number;
}

export interface ScriptFetcher {
  fetch: FetchScript;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 8;

/**
 * What vendors are told: of the page and its visitor nothing. Some leave compression out for names that they do not know.
 */
const HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, br', 'user-agent': 'Mozilla/5.0 (compatible; svc-loader)' };

class FetchFailure extends Error {
  readonly code: ScriptFailure;

  constructor(code: ScriptFailure) {
    super(code);
    this.code = code;
  }
}

/** Fetches vendors' scripts. Redirects are refused; the size is that of what was decoded, so that no small body grows in memory. */
export function createScriptFetcher({ vendors, timeoutMs, bytesMax }: ScriptFetchOptions): ScriptFetcher {
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: timeoutMs },
  });
  return {
    async fetch({ vendor, path }) {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const url = new URL(vendors[vendor]);
        const request = { origin: url.origin, path: url.pathname.replace(/\/$/, '') + path, method: 'GET' } as const;
        const { statusCode, headers, body } = await agent.request({ ...request, headers: HEADERS, signal });
        const refusal = refusalOf(statusCode, headers['content-type']);
        if (refusal !== null) {
          // Nobody reads it; that it breaks off changes nothing.
          void body.dump({ limit: 1024 }).catch(() => undefined);
          return { ok: false, reason: refusal };
        }
        const bytes = await readDecoded(body, String(headers['content-encoding'] ?? 'identity'), bytesMax, signal);
        return { ok: true, bytes };
      } catch (error) {
        return failed(error, signal);
      }
    },
    close: () => agent.destroy(),
  };
}

function refusalOf(status: number, contentType: string | string[] | undefined): ScriptFailure | null {
  if (status >= 300 && status < 400) return 'redirect';
  if (status !== 200) return 'status';
  return isScriptType([contentType].flat()[0]) ? null : 'content_type';
}

/** What a broken or a strange body is: an answer that there is none. Faults of our own are thrown. */
function failed(error: unknown, signal: AbortSignal): FetchedScript {
  if (error instanceof FetchFailure) return { ok: false, reason: error.code };
  if (signal.aborted) return { ok: false, reason: 'timeout' };
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string' || code.startsWith('ERR_INVALID_')) throw error;
  return { ok: false, reason: DECODER_CODE.test(code) ? 'content_encoding' : 'unreachable' };
}

/** Codes of zlib and, in Node, of Brotli. */
const DECODER_CODE = /^(?:Z_|ERR__|ERR_BROTLI)/;

async function readDecoded(body: Readable, coding: string, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new FetchFailure('too_large');
      chunks.push(chunk);
    }
  };
  const decoder = decoderOf(coding.trim().toLowerCase());
  if (decoder === null) await pipeline(body, collect, { signal });
  else await pipeline(body, decoder, collect, { signal });
  return Buffer.concat(chunks);
}

function decoderOf(coding: string) {
  if (coding === '' || coding === 'identity') return null;
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
  if (coding === 'br') return createBrotliDecompress();
  if (coding === 'deflate') return createInflate();
  throw new FetchFailure('content_encoding');
}
