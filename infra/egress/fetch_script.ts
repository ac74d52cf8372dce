import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent } from 'undici';
import {
  type FetchedScript,
  type FetchScript,
  isScriptType,
  type LoaderVendor,
  type ScriptFailure,
} from '#pipelines/tag/vendor_scripts.ts';

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
