// The client: what a program calls. README.md has it all with examples.

import {
  BODY_BYTES_MAX,
  ENVELOPE_BYTES,
  type EventInput,
  type OfflineEventInput,
  type PersonInput,
  type Shopper,
  type Written,
  writeEvent,
  writeOffline,
  writePerson,
} from './event.ts';
import { type Callbacks, ClientError, createReport, PROBLEMS, type Report, type TrackCode } from './problems.ts';
import { type Fetch, type Runtime, systemRuntime } from './runtime.ts';
import { type FlushResult, type Journal, Sender, type SenderOptions } from './sender.ts';

export type {
  ActionSource,
  ConversionName,
  EventInput,
  EventName,
  Item,
  OfflineEventInput,
  OfflineSource,
  PersonInput,
  Properties,
  SentEvent,
  Shopper,
} from './event.ts';
export {
  ClientError,
  type ClientProblem,
  type DeliveryCode,
  type DroppedEvents,
  type MisuseCode,
  type RejectedEvent,
  type TrackCode,
} from './problems.ts';
export type { Fetch, Runtime } from './runtime.ts';
export type { FlushResult, Journal } from './sender.ts';

export interface ClientOptions extends Callbacks {
  /** Address of the edge, as `https://events.shop.example`. */
  url: string;
  /** The key of a site: a server key (`svc_sk_`). */
  key: string;
  /** Keeps events on disk until the service has them: `openJournal('./folder')` of the entry point `/journal`. */
  journal?: Journal | undefined;
  /** A request goes out once so many events wait; it holds no more. 1 to 50, by default 50. */
  flushAt?: number | undefined;
  /** The same in bytes of JSON, by default 200,000. */
  flushBytes?: number | undefined;
  /** How long an event waits for others, by default 1,000 ms. */
  flushIntervalMs?: number | undefined;
  /** Events that may wait, by default 10,000. One more is not taken (`queue_full`). */
  queueEventsMax?: number | undefined;
  /** The same in bytes of JSON, by default 16 MiB. */
  queueBytesMax?: number | undefined;
  /** Of one request, by default 10,000 ms. */
  requestTimeoutMs?: number | undefined;
  /** The first wait after a failed request lies between 0 and this, by default 500 ms; it doubles with each. */
  retryBaseMs?: number | undefined;
  /** The longest wait, by default 60,000 ms. */
  retryMaxMs?: number | undefined;
  /** The longest that the service may ask for by `Retry-After`, by default 600,000 ms. */
  retryAfterMaxMs?: number | undefined;
  /** Bodies of more bytes are compressed, by default 1,024; 0: never. */
  gzipBytesMin?: number | undefined;
  /** In place of the platform's. */
  fetch?: Fetch | undefined;
}

/** What became of a call. `uuid` is the event's id: pass it to the browser's tag where that reports the same event. */
export type Tracked = { ok: true; uuid: string } | { ok: false; code: TrackCode; message: string };

export interface DeadlineOptions {
  /** By default 10,000. */
  deadlineMs?: number | undefined;
}

const DEADLINE_MS = 10_000;
const MS_MAX = 86_400_000;
const EVENT_BYTES_MAX = BODY_BYTES_MAX - ENVELOPE_BYTES;
const EVENTS_PER_REQUEST_MAX = 50;

/**
 * Sends events to the service: in batches, repeated until it answers, each counted once. It has no state beside its own, and
 * keeps no process alive unless one waits for `flush` or `shutdown`.
 */
export class Client {
  readonly #runtime: Runtime;
  readonly #report: Report;
  readonly #sender: Sender;
  #ending: Promise<FlushResult> | null = null;

  /**
   * @param runtime Clock, timers, randomness and fetch, for tests.
   * @throws ClientError where the options cannot be meant.
   */
  constructor(options: ClientOptions, runtime?: Runtime) {
    const senderOptions = readOptions(options);
    this.#runtime = runtime ?? systemRuntime(options.fetch);
    this.#report = createReport(options);
    this.#sender = new Sender(senderOptions, this.#runtime, this.#report, options.journal);
  }

  /** Events that wait for the service's answer. */
  get pending(): number {
    return this.#sender.pending;
  }

  /**
   * Takes an event. Never throws: what is wrong with it is in the answer, and goes to `onError` as well. With a journal the
   * event outlives the process from here on.
   */
  track(event: EventInput): Tracked {
    return this.#take(writeEvent, event);
  }

  /** The same of a conversion that no browser saw: at a point of sale, by phone, in a back office. Report it within 7 days. */
  trackOffline(event: OfflineEventInput): Tracked {
    return this.#take(writeOffline, event);
  }

  /** Says who a user is (`email`, `phone`, ... as properties), and which id they had before. */
  identify(person: PersonInput): Tracked {
    return this.#take(writePerson, person);
  }

  #take<T>(write: (input: T, nowMs: number, newUuid: () => string) => Written, input: T): Tracked {
    let written: Written;
    try {
      written = write(input, this.#runtime.nowMs(), () => this.#runtime.newUuid());
    } catch {
      // Circular, or a getter that throws. What the error says may quote the properties.
      written = { ok: false, code: 'event_not_serialisable' };
    }
    if (!written.ok) return this.#refuse(written.code);
    if (this.#ending !== null) return this.#refuse('client_closed');
    if (!this.#sender.take(written.entry)) return this.#refuse('queue_full');
    return { ok: true, uuid: written.entry.uuid };
  }

  #refuse(code: TrackCode): Tracked {
    this.#report.problem(code);
    return { ok: false, code, message: PROBLEMS[code] };
  }

  /** Sends what was tracked so far, and resolves when the service has answered for it, or at the deadline. Never rejects. */
  flush({ deadlineMs = DEADLINE_MS }: DeadlineOptions = {}): Promise<FlushResult> {
    return this.#ending ?? this.#sender.flush(deadlineMs);
  }

  /**
   * Takes no more events, sends what waits until the deadline, and ends. What is left then stays in the journal; what is in none
   * goes to `onError` as `shutdown_deadline`. Never rejects; may be called again.
   */
  shutdown({ deadlineMs = DEADLINE_MS }: DeadlineOptions = {}): Promise<FlushResult> {
    this.#ending ??= this.#sender.end(deadlineMs);
    return this.#ending;
  }
}

function readOptions(options: ClientOptions): SenderOptions {
  const { key } = options;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) throw new ClientError('key_invalid');
  const ms = (name: keyof ClientOptions, usual: number): number => inRange(options, name, usual, 0, MS_MAX);
  return {
    post: {
      url: routeOf(options.url),
      key,
      timeoutMs: inRange(options, 'requestTimeoutMs', 10_000, 1, MS_MAX),
      gzipBytesMin: inRange(options, 'gzipBytesMin', 1_024, 0, Number.MAX_SAFE_INTEGER),
    },
    retry: {
      baseMs: ms('retryBaseMs', 500),
      maxMs: ms('retryMaxMs', 60_000),
      retryAfterMaxMs: ms('retryAfterMaxMs', 600_000),
    },
    flushAt: inRange(options, 'flushAt', EVENTS_PER_REQUEST_MAX, 1, EVENTS_PER_REQUEST_MAX),
    flushBytes: inRange(options, 'flushBytes', 200_000, 1, EVENT_BYTES_MAX),
    flushIntervalMs: ms('flushIntervalMs', 1_000),
    queueEventsMax: inRange(options, 'queueEventsMax', 10_000, 1, Number.MAX_SAFE_INTEGER),
    queueBytesMax: inRange(options, 'queueBytesMax', 16 * 1024 * 1024, EVENT_BYTES_MAX, Number.MAX_SAFE_INTEGER),
  };
}

function inRange(options: ClientOptions, name: keyof ClientOptions, usual: number, from: number, to: number): number {
  const value = options[name] ?? usual;
  if (typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to) return value;
  throw new ClientError('option_invalid', `${name} must be a whole number from ${from} to ${to}.`);
}

function routeOf(base: string): string {
  const url = typeof base === 'string' && URL.canParse(base) ? new URL(base) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new ClientError('url_invalid');
  if (url.username + url.password + url.search + url.hash !== '') throw new ClientError('url_invalid');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1/ingest`;
}

/** Headers as the platforms have them: a Fetch `Headers`, or an object with names in lower case. */
type HeadersLike = { get(name: string): string | null } | Readonly<Record<string, string | string[] | undefined>>;

/** A Fetch `Request`, an `IncomingMessage` of Node, or a request of Express or Fastify. */
export interface RequestLike {
  readonly headers: HeadersLike;
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  /** Express's and Fastify's: by their own setting of trusted proxies. */
  readonly ip?: unknown;
}

export interface RequestOptions {
  /**
   * Who says the shopper's address. `false`, the default: the connection alone, or the framework by its own setting. A number:
   * so many proxies of yours stand in front, each of which adds to `X-Forwarded-For`. A header's name: your platform sets it
   * itself, whatever the client sent, as `cf-connecting-ip`.
   */
  trustProxy?: false | number | string | undefined;
}

const COOKIE = 'svc_did';
/** As the tag makes them. */
const VISITOR_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const USER_AGENT_CHARACTERS_MAX = 1_000;
const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:]*(?:(?:\d{1,3}\.){3}\d{1,3})?$/i;

/** The shopper's visitor id, address and user agent, as far as the request says them. Never throws. */
export function fromRequest(request: RequestLike, { trustProxy = false }: RequestOptions = {}): Shopper {
  const userAgent = headerOf(request.headers, 'user-agent')?.slice(0, USER_AGENT_CHARACTERS_MAX);
  return {
    distinctId: visitorIdOf(headerOf(request.headers, 'cookie')),
    ip: addressOf(request, trustProxy),
    userAgent: userAgent === '' ? undefined : userAgent,
  };
}

function headerOf(headers: HeadersLike | undefined, name: string): string | undefined {
  if (typeof headers?.get === 'function') return (headers.get(name) as string | null) ?? undefined;
  const value = Object.hasOwn(headers ?? {}, name)
    ? (headers as Record<string, string | string[] | undefined>)[name]
    : undefined;
  // As several Cookie or X-Forwarded-For headers are to be read.
  return Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : value;
}

/** Undefined where there is none of the tag's, or where two contradict each other. */
function visitorIdOf(cookies: string | undefined): string | undefined {
  const values = (cookies ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`))
    .map((pair) => pair.slice(COOKIE.length + 1));
  const [id] = values;
  return id !== undefined && VISITOR_ID.test(id) && values.every((other) => other === id) ? id : undefined;
}

function addressOf({ headers, socket, ip }: RequestLike, trustProxy: false | number | string): string | undefined {
  const connection = socket?.remoteAddress;
  if (typeof trustProxy === 'string') return plainAddress(headerOf(headers, trustProxy.toLowerCase()));
  if (trustProxy === false || trustProxy < 1) {
    // Only where there is a connection: what else calls itself `ip` may be whatever the client sent.
    return plainAddress(typeof ip === 'string' && connection !== undefined ? ip : connection);
  }
  const forwarded = headerOf(headers, 'x-forwarded-for')?.split(',') ?? [];
  // Each proxy appends who called it; what stands before the last so many is the client's own word.
  return plainAddress(forwarded.at(-trustProxy) ?? forwarded[0] ?? connection);
}

/** An address without port, brackets and the prefix of IPv4 in IPv6; undefined for anything else. */
function plainAddress(text: string | undefined): string | undefined {
  const bare = text?.trim().replace(/^\[([^\]]*)\](?::\d+)?$/, '$1') ?? '';
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^((?:\d{1,3}\.){3}\d{1,3}):\d+$/, '$1');
  return IPV4.test(address) || (IPV6.test(address) && address.length <= 45) ? address : undefined;
}
