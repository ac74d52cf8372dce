import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';

/** A request as it goes out. */
export interface Outgoing {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** How many events are in it. */
  events: number;
}

/** Makes one request after the other. */
export type Traffic<Sent extends Outgoing = Outgoing> = () => Sent;

export interface LoadResult {
  requests: number;
  events: number;
  /** Bytes of the bodies. */
  bytes: number;
  /** Statuses other than 200 and errors, counted. */
  failures: Record<string, number>;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

interface LoadOptions<Sent extends Outgoing> {
  url: string;
  traffic: Traffic<Sent>;
  durationMs: number;
  onAnswer?(sent: Sent, answer: Answer): void;
}

export interface Answer {
  /** 200, another status, or an error. */
  outcome: string;
  text: string;
  /** Of an error. */
  code?: string;
}

/** Each is a connection of its own, which is kept alive. */
const CONNECTIONS = 256;
const STEP_MS = 1;

/** Keeps 256 requests open for a time, each answered before the next of its connection is sent. */
export async function saturate<Sent extends Outgoing>(options: LoadOptions<Sent>): Promise<LoadResult> {
  const { traffic, durationMs } = options;
  const load = openLoad(options);
  const slot = async (): Promise<void> => {
    while (load.passedMs() < durationMs) await load.send(traffic(), performance.now());
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, slot));
  return load.close();
}

/**
 * Sends events at a rate, whether earlier requests are answered or not. A time counts from when its request was due, also where
 * the sender or its connections were behind: none is left out because others were slow (coordinated omission).
 */
export async function sendAtRate<Sent extends Outgoing>(
  options: LoadOptions<Sent> & { eventsPerSecond: number },
): Promise<LoadResult> {
  const load = openLoad(options);
  await pace(options, load.send);
  return load.close();
}

/** Has requests sent as they are due, whether earlier ones are answered or not; resolves when all are. */
export async function pace<Sent extends Outgoing>(
  {
    traffic,
    durationMs,
    eventsPerSecond,
  }: Pick<LoadOptions<Sent>, 'traffic' | 'durationMs'> & { eventsPerSecond: number },
  send: (sent: Sent, dueMs: number) => Promise<void>,
): Promise<void> {
  const startedMs = performance.now();
  const open = new Set<Promise<void>>();
  let events = 0;
  for (let passedMs = 0; passedMs < durationMs; passedMs = performance.now() - startedMs) {
    while (events < (eventsPerSecond * passedMs) / 1_000) {
      const sent = traffic();
      const sending = send(sent, startedMs + (events * 1_000) / eventsPerSecond).finally(() => open.delete(sending));
      open.add(sending);
      events += sent.events;
    }
    await sleep(STEP_MS);
  }
  await Promise.all(open);
}

function openLoad<Sent extends Outgoing>({ url, onAnswer }: LoadOptions<Sent>) {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const latencies: number[] = [];
  const result = { events: 0, bytes: 0, failures: {} as Record<string, number> };
  const startedMs = performance.now();
  return {
    passedMs: () => performance.now() - startedMs,
    async send(sent: Sent, dueMs: number): Promise<void> {
      const answer = await post(pool, sent);
      latencies.push(performance.now() - dueMs);
      result.events += sent.events;
      result.bytes += sent.body.length;
      if (answer.outcome !== '200') result.failures[answer.outcome] = (result.failures[answer.outcome] ?? 0) + 1;
      onAnswer?.(sent, answer);
    },
    async close(): Promise<LoadResult> {
      const seconds = (performance.now() - startedMs) / 1000;
      await pool.close();
      latencies.sort((a, b) => a - b);
      const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
      return { ...result, requests: latencies.length, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
    },
  };
}

/** Below the level of streams, which cost the sender half as much again, on the cores that it shares with what it measures. */
export function post(pool: Pool, { path, headers, body }: Outgoing): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let status = 0;
  const chunks: Buffer[] = [];
  const handler: Dispatcher.DispatchHandler = {
    // Without it the dispatcher takes the handler for one of its older kind, whose methods have other names.
    onRequestStart: () => undefined,
    onResponseStart(_, statusCode) {
      status = statusCode;
    },
    onResponseData(_, chunk) {
      chunks.push(chunk);
    },
    onResponseEnd: () => resolve({ outcome: String(status), text: Buffer.concat(chunks).toString() }),
    onResponseError: (_, error) =>
      resolve({ outcome: String(error), text: '', code: (error as NodeJS.ErrnoException).code ?? '' }),
  };
  pool.dispatch({ path, method: 'POST', headers, body }, handler);
  return promise;
}
