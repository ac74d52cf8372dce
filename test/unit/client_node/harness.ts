// A client's world in a test: a clock that is moved by hand, and a service that answers as it is told.
import { setImmediate } from 'node:timers/promises';
import {
  Client,
  type ClientOptions,
  type ClientProblem,
  type DroppedEvents,
  type Fetch,
  type RejectedEvent,
  type Runtime,
  type SentEvent,
} from '#clients/node/src/client.ts';

interface Request {
  events: SentEvent[];
  sentAt: number;
  bytes: number;
  headers: Record<string, string>;
  atMs: number;
  url: string;
}

export interface Reply {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}
/** How the service treats a request; `hang`: it never answers. */
export type Service = (request: Request) => Reply | Error | 'hang';

export const accepted: Service = ({ events }) => ({ body: { accepted: events.length } });

export const refusing = (status: number, code: string): Reply => ({ status, body: { error: { code, message: '' } } });

/** Each request takes the next of these; the last for ever. */
export function inTurn(...services: Service[]): Service {
  let at = 0;
  return (request) => (services[Math.min(at++, services.length - 1)] ?? accepted)(request);
}

interface FakeTimer {
  atMs: number;
  run(): void;
  isHeld: boolean;
}

export const START_MS = Date.UTC(2026, 10, 20, 10);

export type World = ReturnType<typeof createWorld>;

/** @param random What the jitter is drawn from; by default it is as long as it can be. */
export function createWorld(service: Service, random: () => number = () => 0.999999) {
  const timers = new Set<FakeTimer>();
  const requests: Request[] = [];
  const told = {
    rejected: [] as RejectedEvent[],
    dropped: [] as DroppedEvents[],
    problems: [] as ClientProblem[],
  };
  let nowMs = START_MS;
  let uuids = 0;

  const fetch: Fetch = async (url, { body, headers, signal }) => {
    const text = typeof body === 'string' ? body : await gunzipped(body);
    const { events, sent_at: sentAt } = JSON.parse(text) as { events: SentEvent[]; sent_at: number };
    const request = { url, events, sentAt, headers, atMs: nowMs, bytes: Buffer.byteLength(text) };
    requests.push(request);
    const reply = service(request);
    if (reply === 'hang') {
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    }
    if (reply instanceof Error) throw reply;
    return answerOf(reply);
  };

  const runtime: Runtime = {
    nowMs: () => nowMs,
    random,
    newUuid() {
      uuids += 1;
      return `uuid-${uuids}`;
    },
    fetch,
    schedule(ms, run) {
      const timer = { atMs: nowMs + ms, run, isHeld: false };
      timers.add(timer);
      return { cancel: () => timers.delete(timer), hold: (isHeld) => void Object.assign(timer, { isHeld }) };
    },
  };

  /** Moves the clock, running what falls due on the way. */
  async function pass(ms: number): Promise<void> {
    await setImmediate();
    const untilMs = nowMs + ms;
    for (;;) {
      const [next] = [...timers].filter(({ atMs }) => atMs <= untilMs).sort((one, other) => one.atMs - other.atMs);
      if (next === undefined) break;
      timers.delete(next);
      nowMs = Math.max(nowMs, next.atMs);
      next.run();
      await setImmediate();
    }
    nowMs = untilMs;
  }

  return {
    requests,
    told,
    runtime,
    pass,
    timers: (): readonly FakeTimer[] => [...timers],
    /** The codes that `onError` was called with. */
    codes: (): string[] => told.problems.map(({ code }) => code),
    sentUuids: (): string[][] => requests.map(({ events }) => events.map(({ uuid }) => uuid)),
    client: (options: Partial<ClientOptions> = {}): Client =>
      new Client(
        {
          url: 'https://edge.example',
          key: 'svc_sk_test',
          gzipBytesMin: 0,
          onRejected: (rejected) => told.rejected.push(rejected),
          onDropped: (dropped) => told.dropped.push(dropped),
          onError: (problem) => told.problems.push(problem),
          ...options,
        },
        runtime,
      ),
  };
}

async function gunzipped(body: ArrayBuffer): Promise<string> {
  return new Response(new Blob([body]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function answerOf({ status = 200, body = '', headers = {} }: Reply): Awaited<ReturnType<Fetch>> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  let isRead = false;
  const read = async () => {
    const done = isRead;
    isRead = true;
    return done ? { done } : { done, value: new TextEncoder().encode(text) };
  };
  const header = (name: string): string | null => headers[name.toLowerCase()] ?? null;
  return { status, headers: { get: header }, body: { getReader: () => ({ read, cancel: async () => undefined }) } };
}
