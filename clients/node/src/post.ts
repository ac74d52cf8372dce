// One request: written, compressed, sent, and its answer read, all within a time limit.
import { type HttpAnswer, judgeAnswer, type Verdict } from './answers.ts';
import type { Entry } from './event.ts';
import type { FetchResponse, Runtime } from './runtime.ts';

export interface PostOptions {
  /** Of the route that takes events. */
  url: string;
  key: string;
  timeoutMs: number;
  /** Bodies of more bytes are compressed where the platform can; 0 for none. */
  gzipBytesMin: number;
}

/** Longer than any answer of the service. */
const ANSWER_BYTES_MAX = 256 * 1024;

/** A request that is under way. */
export interface Post {
  readonly verdict: Promise<Verdict>;
  /** Gives up; the service may have got it. */
  abort(): void;
}

/** Sends events. The verdict is there in `timeoutMs` at the latest, also where `fetch` does not heed its signal. */
export function post(entries: readonly Entry[], options: PostOptions, runtime: Runtime): Post {
  const controller = new AbortController();
  let isLate = false;
  const timer = runtime.schedule(options.timeoutMs, () => {
    isLate = true;
    controller.abort();
  });
  const verdict = Promise.race([exchange(entries, options, runtime, controller.signal), aborted(controller.signal)])
    .then((answer) => judgeAnswer(answer, entries.length, runtime.nowMs()))
    .catch((error: unknown): Verdict => {
      const code = isLate ? 'timed_out' : 'network_failed';
      return { kind: 'retry', code, detail: reasonOf(error), afterMs: null, isSuspect: false };
    })
    .finally(() => timer.cancel());
  return { verdict, abort: () => controller.abort() };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });
}

async function exchange(
  entries: readonly Entry[],
  { url, key, gzipBytesMin }: PostOptions,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  // When it is sent, by the clock that made the events' times: the service moves these where that clock is off.
  const text = `{"sent_at":${Math.trunc(runtime.nowMs())},"events":[${entries.map(({ json }) => json).join(',')}]}`;
  const headers: Record<string, string> = { 'x-svc-key': key, 'content-type': 'application/json' };
  const packed = gzipBytesMin > 0 && text.length > gzipBytesMin ? await gzip(text) : null;
  if (packed !== null) headers['content-encoding'] = 'gzip';
  // Followed redirects would take key and events to whoever a portal names.
  const init = { method: 'POST', headers, body: packed ?? text, signal, redirect: 'manual' } as const;
  const response = await runtime.fetch(url, init);
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    text: await readText(response),
  };
}

/** Null where the platform cannot, or fails: then the body goes as it is. */
async function gzip(text: string): Promise<ArrayBuffer | null> {
  if (typeof CompressionStream !== 'function') return null;
  try {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
    return await new Response(stream).arrayBuffer();
  } catch {
    return null;
  }
}

/** Reads an answer to its end, as the connection is only then used again; null where it is too long. */
async function readText({ body }: FetchResponse): Promise<string | null> {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length <= ANSWER_BYTES_MAX) continue;
    await reader.cancel();
    return null;
  }
}

/** The codes of the errors within, as `ECONNREFUSED`; messages may name more than belongs into a log. */
function reasonOf(error: unknown): string | null {
  const cause = (error as { cause?: unknown } | null)?.cause ?? error;
  const { code, name } = (cause ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : null;
}
