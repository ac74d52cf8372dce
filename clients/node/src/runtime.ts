// What the library takes of the machine: a clock, timers, randomness and fetch. Tests pass others.
import { ClientError } from './problems.ts';

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): FetchReader } | null;
}

interface FetchReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body: string | ArrayBuffer;
  /** Whatever the platform's `fetch` takes as a signal. */
  signal: AbortSignal;
  redirect: 'manual';
}

/** As much of `fetch` as is used, so that any will do. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

export interface Timer {
  cancel(): void;
  /** Whether the process lives until the timer has run. It does not, until this was called. */
  hold(isHeld: boolean): void;
}

export interface Runtime {
  nowMs(): number;
  /** From 0 to below 1. */
  random(): number;
  newUuid(): string;
  fetch: Fetch;
  /** Runs once after so many milliseconds. The process may end before, unless the timer is held. */
  schedule(ms: number, run: () => void): Timer;
}

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Timers of the platform that keep no process alive by themselves. */
export function schedule(ms: number, run: () => void): Timer {
  const timer: unknown = setTimeout(run, Math.min(ms, TIMER_MS_MAX));
  const node = timer as { ref?(): void; unref?(): void };
  // Timers are numbers where there is no such thing.
  const hold = (isHeld: boolean): void => (isHeld ? node.ref?.() : node.unref?.());
  hold(false);
  return { hold, cancel: () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]) };
}

/** A UUID of version 7 (RFC 9562): 48 bits of time, then what is random. */
export function uuid7(nowMs: number, random: Uint8Array): string {
  const bytes = Uint8Array.from(random.subarray(0, 16));
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(nowMs / 2 ** (8 * (5 - at))) % 256;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * The machine itself.
 *
 * @throws ClientError `fetch_missing`.
 */
export function systemRuntime(given: Fetch | undefined): Runtime {
  const found = given ?? (globalThis.fetch as Fetch | undefined);
  if (typeof found !== 'function') throw new ClientError('fetch_missing');
  return {
    nowMs: () => Date.now(),
    random: () => Math.random(),
    newUuid: () => uuid7(Date.now(), crypto.getRandomValues(new Uint8Array(16))),
    // Not as a method: some platforms refuse a fetch that is called on something else.
    fetch: (url, init) => found(url, init),
    schedule,
  };
}
