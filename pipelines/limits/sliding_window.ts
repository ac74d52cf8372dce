import type { LimitKind, RateLimits, RateState, RateVerdict } from './admission.ts';

const SLICES = 10;
/** Beyond so many callers the one that came first is forgotten. */
const SUBJECTS_MAX = 100_000;

interface Window {
  /** Number of the slice that `counts[0]` is of. */
  first: number;
  counts: number[];
  total: number;
}

/** Rate limits in this process alone. */
export interface MemoryLimits {
  /** Counts one request of an address and a key, unless one of them has reached its limit; a key may have its own. */
  take(address: string | null, key: string | null, nowMs: number, keyLimit?: number | null): RateVerdict;
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
    take(address, key, nowMs, keyLimit = null) {
      const keyMost = keyLimit ?? perKey;
      const slice = Math.floor(nowMs / sliceMs);
      const byAddress = address === null || perIp === 0 ? null : windowOf(addresses, address, slice);
      const byKey = key === null || keyMost === 0 ? null : windowOf(keys, key, slice);
      if (byAddress !== null && byAddress.total >= perIp) return limited('ip', byAddress, perIp, nowMs);
      if (byKey !== null && byKey.total >= keyMost) return limited('key', byKey, keyMost, nowMs);
      if (byAddress !== null) count(byAddress, slice);
      if (byKey !== null) count(byKey, slice);
      return { ok: true, rate: nearer(stateOf(byAddress, perIp, nowMs), stateOf(byKey, keyMost, nowMs)) };
    },
  };
}

/** The state that leaves less. */
function nearer(a: RateState | null, b: RateState | null): RateState | null {
  if (a === null || b === null) return a ?? b;
  return a.remaining <= b.remaining ? a : b;
}

/** A subject's window, without the slices that have left it. */
function windowOf(windows: Map<string, Window>, subject: string, slice: number): Window {
  let window = windows.get(subject);
  if (window === undefined) {
    window = { first: slice, counts: [], total: 0 };
    if (windows.size >= SUBJECTS_MAX) forgetFirst(windows);
    windows.set(subject, window);
  }
  while (window.counts.length > 0 && (window.first < slice - SLICES || window.counts[0] === 0)) {
    window.total -= window.counts.shift() ?? 0;
    window.first++;
  }
  if (window.counts.length === 0) window.first = slice;
  return window;
}

function count(window: Window, slice: number): void {
  // A clock that was set back counts in the newest slice there is.
  const at = Math.max(slice - window.first, window.counts.length - 1);
  while (window.counts.length <= at) window.counts.push(0);
  window.counts[at] = (window.counts[at] ?? 0) + 1;
  window.total++;
}

function forgetFirst(windows: Map<string, Window>): void {
  const [first] = windows.keys();
  if (first !== undefined) windows.delete(first);
}
