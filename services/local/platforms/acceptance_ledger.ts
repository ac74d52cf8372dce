// What a stand-in accepted, and the exchange it is read from.
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';

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
export type Ledger = ReturnType<typeof createLedger>;

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
