// Rate limits and the monthly quota of a request, shared and of one edge alone; and the months that are counted.

export type LimitKind = 'ip' | 'key';

/** How a subject stands to its limit. */
export interface RateState {
  /** Requests in a window. */
  limit: number;
  remaining: number;
  /** Until more remains. */
  resetMs: number;
}

export type RateVerdict =
  | { ok: true; rate: RateState | null }
  | { ok: false; kind: LimitKind; waitMs: number; rate: RateState };
export type Limited = Extract<RateVerdict, { ok: false }>;

/** Requests in a window; 0: no limit. */
export interface RateLimits {
  windowMs: number;
  perIp: number;
  perKey: number;
}

/** What a request wants of the limits and of its account's month. */
export interface AdmissionRequest {
  /** Who calls, as the limits count it; null where its address is not limited. */
  address: string | null;
  key: string | null;
  /** Requests of the key in a window, where it has a limit of its own. */
  keyLimit: number | null;
  /** How many requests it counts as; of several no more count than the limits have room for. */
  requests: number;
  accountId: string;
  month: string;
  /** Events the month may hold, the grace included. */
  monthLimit: number;
  wanted: number;
  /** Under which it is reserved; empty: nothing can be. */
  lease: string;
}

export interface Admission {
  verdict: RateVerdict;
  /** Events that were reserved; null where the month's usage is not known. */
  granted: number | null;
  /** Used and held of the month, what was granted included. */
  known: number;
}

/** An account's monthly allowance with its grace of 20 %, in events. */
export function allowanceWithGrace(monthlyAllowance: number): number {
  return monthlyAllowance + Math.floor(monthlyAllowance / 5);
}

const SLICES = 10;
/** Beyond so many callers the one that came first is forgotten. */
const SUBJECTS_MAX = 100_000;

interface Window {
  /** Number of the slice that `counts[0]` is of. */
  first: number;
  counts: number[];
  total: number;
}

export interface MemoryLimits {
  /**
   * Counts a request of an address and a key, unless one of them has reached its limit; a key may have its own. It may count
   * as several, as far as the limits have room.
   */
  take(
    address: string | null,
    key: string | null,
    nowMs: number,
    keyLimit?: number | null,
    requests?: number,
  ): RateVerdict;
}

/**
 * Counts requests in slices of a tenth of the window: the slice that runs and the ten before it. No span of a window's
 * length ever holds more than the limit. What is refused is not counted.
 */
export function createMemoryLimits({ windowMs, perIp, perKey }: RateLimits): MemoryLimits {
  const sliceMs = windowMs / SLICES;
  const addresses = new Map<string, Window>();
  const keys = new Map<string, Window>();

  const leavesMs = (slice: number, nowMs: number): number =>
    Math.max(1, Math.ceil((slice + SLICES + 1) * sliceMs - nowMs));

  function waitMs({ first, counts, total }: Window, limit: number, nowMs: number): number {
    let left = total;
    for (let at = 0; at < counts.length; at++) {
      left -= counts[at] ?? 0;
      if (left < limit) return leavesMs(first + at, nowMs);
    }
    return leavesMs(first + counts.length, nowMs);
  }

  function limited(kind: LimitKind, window: Window, limit: number, nowMs: number): RateVerdict {
    const wait = waitMs(window, limit, nowMs);
    return { ok: false, kind, waitMs: wait, rate: { limit, remaining: 0, resetMs: wait } };
  }

  function stateOf(window: Window | null, limit: number, nowMs: number): RateState | null {
    if (window === null) return null;
    return { limit, remaining: limit - window.total, resetMs: leavesMs(window.first, nowMs) };
  }

  return {
    take(address, key, nowMs, keyLimit = null, requests = 1) {
      const keyMost = keyLimit ?? perKey;
      const slice = Math.floor(nowMs / sliceMs);
      const byAddress = address === null || perIp === 0 ? null : windowOf(addresses, address, slice);
      const byKey = key === null || keyMost === 0 ? null : windowOf(keys, key, slice);
      if (byAddress !== null && byAddress.total >= perIp) return limited('ip', byAddress, perIp, nowMs);
      if (byKey !== null && byKey.total >= keyMost) return limited('key', byKey, keyMost, nowMs);
      const counted = Math.min(requests, roomOf(byAddress, perIp), roomOf(byKey, keyMost));
      if (byAddress !== null) count(byAddress, slice, counted);
      if (byKey !== null) count(byKey, slice, counted);
      return { ok: true, rate: nearer(stateOf(byAddress, perIp, nowMs), stateOf(byKey, keyMost, nowMs)) };
    },
  };
}

const roomOf = (window: Window | null, limit: number): number =>
  window === null ? Number.POSITIVE_INFINITY : limit - window.total;

function nearer(a: RateState | null, b: RateState | null): RateState | null {
  if (a === null || b === null) return a ?? b;
  return a.remaining <= b.remaining ? a : b;
}

/** A subject's window, without the slices that have left it. */
function windowOf(windows: Map<string, Window>, subject: string, slice: number): Window {
  let window = windows.get(subject);
  if (window === undefined) {
    window = { first: slice, counts: [], total: 0 };
    if (windows.size >= SUBJECTS_MAX) windows.delete(windows.keys().next().value ?? '');
    windows.set(subject, window);
  }
  while (window.counts.length > 0 && (window.first < slice - SLICES || window.counts[0] === 0)) {
    window.total -= window.counts.shift() ?? 0;
    window.first++;
  }
  if (window.counts.length === 0) window.first = slice;
  return window;
}

function count(window: Window, slice: number, requests: number): void {
  // A clock that was set back counts in the newest slice there is.
  const at = Math.max(slice - window.first, window.counts.length - 1);
  while (window.counts.length <= at) window.counts.push(0);
  window.counts[at] = (window.counts[at] ?? 0) + requests;
  window.total += requests;
}

/** Beyond so many months the one that was learnt first is forgotten. */
const MONTHS_MAX = 100_000;

/**
 * What one edge grants of a month by itself, while nobody can be asked: from the usage it knew last and its own count.
 * Several edges together may then pass the limit by what each of them grants.
 */
export function createOwnCount() {
  /** Used and held when last heard of, and what was granted since. */
  const months = new Map<string, { known: number; granted: number }>();

  function set(name: string, known: number, granted: number): void {
    if (months.size >= MONTHS_MAX && !months.has(name)) months.delete(months.keys().next().value ?? '');
    months.set(name, { known, granted });
  }

  return {
    /** Takes what is known of a month; what was granted before is in it. */
    learn: (accountId: string, month: string, known: number): void => set(`${accountId} ${month}`, known, 0),
    /** How many of the wanted events may be taken. */
    grant(accountId: string, month: string, limit: number, wanted: number): number {
      const name = `${accountId} ${month}`;
      const { known, granted: before } = months.get(name) ?? { known: 0, granted: 0 };
      const granted = Math.max(0, Math.min(wanted, limit - known - before));
      set(name, known, before + granted);
      return granted;
    },
    /** Takes back what was granted and not produced, as far as nothing newer was learnt since. */
    releaseUnused(accountId: string, month: string, events: number): void {
      const name = `${accountId} ${month}`;
      const count = months.get(name);
      if (count !== undefined) set(name, count.known, Math.max(0, count.granted - events));
    },
  };
}

/** Beyond so many the one that came first is forgotten: its next request is judged like any other. */
const BLOCKED_MAX = 10_000;

/**
 * Remembers what was answered, so that who goes on all the same costs no more than a look.
 *
 * @param nowMs Milliseconds of a clock that only goes forward.
 */
export function createBlocked(nowMs: () => number) {
  const byKind: Record<LimitKind, Map<string, { untilMs: number; limited: Limited }>> = {
    ip: new Map(),
    key: new Map(),
  };

  function look(kind: LimitKind, subject: string | null): Limited | null {
    const entries = byKind[kind];
    if (subject === null || entries.size === 0) return null;
    const entry = entries.get(subject);
    if (entry === undefined) return null;
    const waitMs = entry.untilMs - nowMs();
    if (waitMs > 0) return { ...entry.limited, waitMs, rate: { ...entry.limited.rate, resetMs: waitMs } };
    entries.delete(subject);
    return null;
  }

  return {
    add(limited: Limited, address: string | null, keyHash: string): void {
      const entries = byKind[limited.kind];
      const subject = limited.kind === 'ip' ? address : keyHash;
      if (subject === null) return;
      if (entries.size >= BLOCKED_MAX) entries.delete(entries.keys().next().value ?? '');
      entries.set(subject, { untilMs: nowMs() + limited.waitMs, limited });
    },
    find: (address: string | null, keyHash: string): Limited | null => look('ip', address) ?? look('key', keyHash),
  };
}

const DAYS_MAX = 31;
const DAY_MS = 86_400_000;

/** The day asked for last, as every request asks for today's. */
let lastDay = { number: Number.NaN, month: '' };

/** UTC month of a time, YYYY-MM: the month an event counts in is that of its arrival. */
export function monthOf(timeMs: number): string {
  const number = Math.floor(timeMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, month: new Date(timeMs).toISOString().slice(0, 7) };
  return lastDay.month;
}

/** The month of a time and the one before it: what may still be held or settled. */
export function openMonths(timeMs: number): string[] {
  const date = new Date(timeMs);
  const before = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - DAY_MS;
  return [monthOf(timeMs), monthOf(before)];
}

/** Whether a month is over for so long that nothing of it is in flight any more. */
export function isClosed(month: string, timeMs: number): boolean {
  return monthSpan(month).from + 3 * DAYS_MAX * DAY_MS < timeMs;
}

/** What a month that is asked for is written as: its year and number. */
export const MONTH_PATTERN = /^20\d\d-(?:0[1-9]|1[0-2])$/;

/** When a month begins, and when the one after it does, in milliseconds since 1970 UTC. */
export function monthSpan(month: string): { from: number; to: number } {
  const from = Date.parse(`${month}-01T00:00:00Z`);
  const begin = new Date(from);
  return { from, to: Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1) };
}
