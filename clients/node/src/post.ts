// One request: written, compressed, sent, and its answer read, all within a time limit; what the answer means for the events in it,
// and how long to wait before the next.
import type { Entry } from './event.ts';
import type { DeliveryCode } from './problems.ts';
import type { FetchResponse, Runtime } from './runtime.ts';

export interface HttpAnswer {
  status: number;
  header(name: string): string | null;
  /** Null where it was longer than any answer of the service. */
  text: string | null;
}

interface Rejection {
  /** Place in the request. */
  index: number;
  /** The service's stable code. */
  code: string;
  message: string;
}

export type Verdict =
  | {
      kind: 'answered';
      /** Malformed, with the reason. */
      rejected: readonly Rejection[];
      /** Over the account's allowance. */
      overQuota: number;
      /** Of a robot, or held back by a rule of the site. */
      filtered: number;
    }
  | {
      kind: 'retry';
      code: DeliveryCode;
      detail: string | null;
      /** How long the service asks to wait; null where it does not say. */
      afterMs: number | null;
      /** One of the events may be what it cannot cope with. */
      isSuspect: boolean;
    }
  /** Fewer events may pass; a single one never will. */
  | { kind: 'split'; code: DeliveryCode; detail: string | null }
  /** The same would be refused again. */
  | { kind: 'refused'; code: 'key_refused' | 'request_refused'; detail: string | null };

/** These say that key, address or path are wrong, not the events. */
const SETUP_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 421]);
/** A request of the caller's that is to be repeated all the same: RFC 9110 and RFC 8470. */
const REPEATED_STATUSES: ReadonlySet<number> = new Set([408, 425]);
const INTERNAL = 500;

/**
 * Judges an answer. Only one of the service's own shape delivers or refuses: a captive portal answers 200, a proxy 403, and
 * neither has seen the events.
 *
 * @param sent How many events were in the request.
 */
export function judgeAnswer(answer: HttpAnswer, sent: number, nowMs: number): Verdict {
  const { status } = answer;
  const body = readObject(answer.text);
  if (status === 200) return readAccepted(body, sent) ?? foreign(status);
  // A proxy that has a smaller limit than the service refuses as the service does.
  if (status === 413) return { kind: 'split', code: 'too_large', detail: errorOf(body)?.code ?? null };
  if (status === 429) return repeat('rate_limited', answer, body, nowMs);
  if (status >= 500 || REPEATED_STATUSES.has(status)) return repeat('unavailable', answer, body, nowMs);
  const error = errorOf(body);
  if (status < 400 || error === null) return foreign(status);
  if (SETUP_STATUSES.has(status)) return { kind: 'refused', code: 'key_refused', detail: error.code };
  if (error.code === 'events_rejected') return readAllRejected(body, sent) ?? foreign(status);
  if (error.code === 'body_too_complex') return { kind: 'split', code: 'request_refused', detail: error.code };
  return { kind: 'refused', code: 'request_refused', detail: error.code };
}

function foreign(status: number): Verdict {
  return { kind: 'retry', code: 'answer_foreign', detail: `status ${status}`, afterMs: null, isSuspect: false };
}

function repeat(code: DeliveryCode, answer: HttpAnswer, body: Json | null, nowMs: number): Verdict {
  const detail = errorOf(body)?.code ?? `status ${answer.status}`;
  const isSuspect = answer.status === INTERNAL && errorOf(body) !== null;
  return { kind: 'retry', code, detail, afterMs: retryAfterMs(answer, nowMs), isSuspect };
}

type Json = Record<string, unknown>;

function readObject(text: string | null): Json | null {
  try {
    const value: unknown = text === null ? null : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

function errorOf(body: Json | null): { code: string } | null {
  const error = body?.['error'];
  const code: unknown = typeof error === 'object' && error !== null ? (error as Json)['code'] : null;
  return typeof code === 'string' ? { code: code.slice(0, 100) } : null;
}

/** What was accepted, rejected and dropped; null where it is not the service's answer to so many events. */
function readAccepted(body: Json | null, sent: number): Verdict | null {
  const { accepted, dropped = 0, rejected = [] } = body ?? {};
  if (!isCount(accepted) || !isCount(dropped) || !Array.isArray(rejected)) return null;
  const read = rejected.map((one: unknown) => readRejection(one, sent)).filter((one) => one !== null);
  const places = new Set(read.map(({ index }) => index));
  const filtered = sent - accepted - dropped - read.length;
  if (read.length !== rejected.length || places.size !== read.length || filtered < 0) return null;
  return { kind: 'answered', rejected: read, overQuota: dropped, filtered };
}

function readAllRejected(body: Json | null, sent: number): Verdict | null {
  const read = readAccepted({ ...body, accepted: 0, dropped: 0 }, sent);
  return read?.kind === 'answered' && read.filtered === 0 ? read : null;
}

function readRejection(value: unknown, sent: number): Rejection | null {
  const { index, code, message } = (value ?? {}) as Json;
  if (!isCount(index) || index >= sent || typeof code !== 'string') return null;
  return { index, code, message: typeof message === 'string' ? message : '' };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * `Retry-After` in milliseconds, as seconds or as a date; null where it cannot be read. A date is compared with the answer's
 * own where it has one, as the clock here may be wrong.
 */
export function retryAfterMs(answer: Pick<HttpAnswer, 'header'>, nowMs: number): number | null {
  const said = answer.header('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(said)) return Number(said) * 1000;
  const untilMs = Date.parse(said);
  if (Number.isNaN(untilMs) || !/[a-z]/i.test(said)) return null;
  const answeredMs = Date.parse(answer.header('date') ?? '');
  return Math.max(0, untilMs - (Number.isNaN(answeredMs) ? nowMs : answeredMs));
}

export interface RetryOptions {
  /** The first wait lies between 0 and this. */
  baseMs: number;
  /** No wait that is drawn here is longer. */
  maxMs: number;
  /** Nor is one that the service asks for. */
  retryAfterMaxMs: number;
}

/**
 * How long to wait before the next request: exponential with full jitter, and never less than the service asks for.
 *
 * @param attempt How many requests have failed in a row, from 1.
 * @param random From 0 to below 1.
 */
export function waitMs(attempt: number, afterMs: number | null, random: number, options: RetryOptions): number {
  const { baseMs, maxMs, retryAfterMaxMs } = options;
  const drawn = random * Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30));
  // Beyond what was asked for, so that many that were told the same do not come at once.
  return afterMs === null ? drawn : Math.min(afterMs, retryAfterMaxMs) + random * baseMs;
}

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
