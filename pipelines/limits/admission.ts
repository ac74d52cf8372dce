/** Which limit a request has reached. */
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
