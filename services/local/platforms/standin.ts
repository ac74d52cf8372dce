// The stand-in of an ad platform: an HTTP server with scripted faults and an interface for tests; and what it accepted.

import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/** What a platform does with requests. */
interface Platform {
  /** How long the platform remembers an event's key; below 0 it never does, and every repetition counts. */
  keyWindowMs: number;
  /** The scope and token by which a script picks requests. */
  scopeOf(request: PlatformRequest): { scope: string; token: string | null };
  answer(request: PlatformRequest, nowMs: number): PlatformAnswer;
  /** The platform's own way to say that there were too many requests; a plain 429 where it is left out. */
  throttled?(retryAfterS: number | null): PlatformAnswer;
}

/** A platform that a stand-in can be started for. Each file named after a destination exports one as `standin`. */
export type PlatformStandin = (options: StandinOptions) => Platform;

export type Standin = Awaited<ReturnType<typeof startPlatform>>;

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

/** What a fault answers; null where it answers nothing, or as the platform would. */
function faultAnswer(platform: Platform, fault: Fault): PlatformAnswer | null {
  if (fault.kind === 'status') return { status: fault.status, headers: fault.headers ?? {}, body: fault.body ?? '' };
  if (fault.kind === 'html')
    return { status: 500, headers: { 'content-type': 'text/html; charset=utf-8' }, body: HTML_PAGE };
  if (fault.kind !== 'throttle') return null;
  const { retry_after_s: seconds = null } = fault;
  const headers: Record<string, string> = seconds === null ? {} : { 'retry-after': String(seconds) };
  return platform.throttled?.(seconds) ?? { status: 429, headers, body: '' };
}

/**
 * Starts a platform's stand-in on loopback. Paths below `/_standin/` are for whoever directs it: see `answerAdmin`.
 *
 * @throws the listen error, as EADDRINUSE.
 */
export async function startPlatform(standin: PlatformStandin, options: StandinOptions = {}) {
  const platform = standin(options);
  const ledger = createLedger(options.ledgerPath ?? null, platform.keyWindowMs);
  const script = createScript();
  const nowMs = options.nowMs ?? Date.now;
  /** Requests received and answered as the platform would, or as the script says; newest last, the last 1000. */
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
    const admin = answerAdmin(request, ledger, script);
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

const PREFIX = '/_standin/';
const PAGE_MAX = 1_000_000;

const json = (value: unknown, status = 200): PlatformAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

function wholeOf(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

/**
 * The routes by which other processes direct a stand-in; null for a request to the platform itself.
 *
 * - `GET /_standin/ledger?cursor=N&limit=N` what was accepted, in order; without limit all of it
 * - `GET /_standin/totals` counts per scope
 * - `POST /_standin/script` with `{"rules": [...]}`, which replaces all rules
 */
function answerAdmin(request: PlatformRequest, ledger: Ledger, script: Script): PlatformAnswer | null {
  const { pathname, searchParams } = new URL(request.path, 'http://standin');
  if (!pathname.startsWith(PREFIX)) return null;
  const limit = wholeOf(searchParams.get('limit'), PAGE_MAX);
  switch (`${request.method} ${pathname.slice(PREFIX.length)}`) {
    case 'GET ledger':
      return json(ledger.page(wholeOf(searchParams.get('cursor'), 0), limit));
    case 'GET totals':
      return json(ledger.totals());
    case 'POST script': {
      const value = readJson(request.body);
      const rules = isRecord(value) ? value['rules'] : null;
      if (!Value.Check(Rules, rules)) return json({ error: 'rules are malformed' }, 400);
      script.set(rules);
      return json({ rules });
    }
    default:
      return json({ error: 'no such route' }, 404);
  }
}

const Faults = Type.Union([
  /** Any answer, word for word. */
  Type.Object({
    kind: Type.Literal('status'),
    status: Type.Integer({ minimum: 200, maximum: 599 }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(Type.String()),
  }),
  Type.Object({ kind: Type.Literal('throttle'), retry_after_s: Type.Optional(Type.Integer({ minimum: 0 })) }),
  /** A proxy's error page. */
  Type.Object({ kind: Type.Literal('html') }),
  /** Takes the request and never answers. */
  Type.Object({ kind: Type.Literal('hang') }),
  /** Breaks the connection; nothing was accepted. */
  Type.Object({ kind: Type.Literal('reset') }),
  /** Accepts, writes the ledger, and breaks the connection before the answer. */
  Type.Object({ kind: Type.Literal('accept_then_reset') }),
  /** Does nothing wrong; for a delay alone. */
  Type.Object({ kind: Type.Literal('none') }),
]);
type Fault = Static<typeof Faults>;

const Rules = Type.Array(
  Type.Object({
    fault: Faults,
    /** Requests it applies to; absent means until the script is replaced. */
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    /** A pixel id, or the path of a webhook; absent means all but those that begin with @, as `@token` does. */
    scope: Type.Optional(Type.String()),
    /** A token; absent means all. */
    token: Type.Optional(Type.String()),
    delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 600_000 })),
  }),
);
export type Rule = Static<typeof Rules>[number];

type Script = ReturnType<typeof createScript>;

function createScript() {
  let rules: Rule[] = [];
  return {
    /** Replaces all rules. */
    set(replacement: readonly Rule[]): void {
      rules = replacement.map((rule) => ({ ...rule }));
    },
    list: (): readonly Rule[] => rules,
    /** The first rule that applies to a request, counted down; null when it is to be answered as the platform would. */
    take(scope: string, token: string | null): Rule | null {
      // To requests beside the events themselves, as for a token, only a rule that names their scope applies.
      const isAside = scope.startsWith('@');
      const rule = rules.find(
        (one) => (one.scope ?? (isAside ? null : scope)) === scope && (one.token === undefined || one.token === token),
      );
      if (rule === undefined) return null;
      if (rule.times !== undefined) rule.times -= 1;
      rules = rules.filter((one) => one.times !== 0);
      return rule;
    },
  };
}

/** One acceptance of one event, as the platform sees it. */
export interface Acceptance {
  /** What the platform tells repetitions by. */
  key: string;
  event_id: string;
  event_name: string;
  /** Pixel id, or path of the webhook. */
  scope: string;
  at: number;
}

/** An idempotency key with how often it was accepted, and how often that had an effect. */
export interface LedgerEntry extends Omit<Acceptance, 'at'> {
  first_at: number;
  last_at: number;
  times: number;
  effects: number;
}

export type LedgerPage = ReturnType<Ledger['page']>;
type Ledger = ReturnType<typeof createLedger>;

const LINE_END = 0x0a;

/** Lines that were written whole; a line that a crash cut short is taken off the file. */
function readLines(path: string): Acceptance[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(LINE_END) + 1;
  if (whole < bytes.length) truncateSync(path, whole);
  const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acceptance);
}

/**
 * What a stand-in has accepted, by idempotency key.
 *
 * @param path file of JSON lines that is only appended to and read again at start; null keeps it in memory alone.
 * @param windowMs how long the platform remembers a key.
 */
export function createLedger(path: string | null, windowMs: number) {
  const entries: LedgerEntry[] = [];
  const byKey = new Map<string, LedgerEntry>();

  function take({ at, ...acceptance }: Acceptance): void {
    const known = byKey.get(acceptance.key);
    if (known === undefined) {
      const entry = { ...acceptance, first_at: at, last_at: at, times: 1, effects: 1 };
      byKey.set(entry.key, entry);
      entries.push(entry);
      return;
    }
    known.times += 1;
    if (at - known.last_at > windowMs) known.effects += 1;
    known.last_at = at;
  }

  if (path !== null) {
    mkdirSync(dirname(path), { recursive: true });
    readLines(path).forEach(take);
  }
  return {
    /** Records acceptances; they are on disk, where the ledger has a file, when this returns. */
    accept(acceptances: readonly Acceptance[]): void {
      if (path !== null) appendFileSync(path, acceptances.map((one) => `${JSON.stringify(one)}\n`).join(''));
      acceptances.forEach(take);
    },
    /** Entries in order of their first acceptance. */
    page(cursor: number, limit: number) {
      const events = entries.slice(cursor, cursor + limit);
      const next = cursor + events.length;
      return { events, next_cursor: next < entries.length ? next : null, ...sumOf(entries) };
    },
    totals() {
      const groups = Map.groupBy(entries, (entry) => entry.scope);
      return Object.fromEntries([...groups].map(([scope, members]) => [scope, sumOf(members)] as const));
    },
  };
}

/**
 * Distinct keys, acceptances beyond the first of each, and how often an event counted: more than once for a key when it came again
 * after the platform had forgotten it.
 */
function sumOf(entries: readonly LedgerEntry[]) {
  const times = entries.reduce((sum, entry) => sum + entry.times, 0);
  const effects = entries.reduce((sum, entry) => sum + entry.effects, 0);
  return { first: entries.length, repeated: times - entries.length, effects };
}

export interface PlatformRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

export interface PlatformAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** What is accepted with this answer. */
  accepted?: Acceptance[];
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a JSON text; null when it is none. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
