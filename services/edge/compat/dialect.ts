import type { Arrival, MappedCall } from '#pipelines/intake/compat/foreign.ts';
import type { KeyPlaces } from '#pipelines/intake/compat/outline.ts';
import type { EdgeErrorCode } from '#services/edge/errors.ts';

/** A call of a foreign request that was not taken, by its place in the request. */
export interface RefusedCall {
  index: number;
  code: string;
  message: string;
}

/** What became of the events of a request that were sound. */
export interface Stored {
  accepted: number;
  /** Over the month's allowance and its grace. */
  dropped: number;
}

export interface DialectAnswer {
  status: number;
  body: object;
}

/** What a request of a foreign protocol holds, before its calls are looked at. */
export type ForeignRequest =
  | {
      ok: true;
      calls: readonly unknown[];
      sentAtMs: number | null;
      map: (call: unknown, arrival: Arrival) => MappedCall;
    }
  | { ok: false; code: EdgeErrorCode };

/** A foreign protocol: where its key is, how its calls become events, and how it says yes and no. */
export interface Dialect {
  paths: readonly string[];
  /** Bytes of a body at the most, compressed and not. */
  bodyBytesMax: number;
  callsMax: number;
  /** The key in the Authorization header, where the protocol has it there. */
  keyOfHeaders(authorization: string | undefined): string | null;
  /** Where the key is in the body; of a list of calls, in its first. */
  keyPlaces: KeyPlaces;
  read(path: string, body: unknown, query: Readonly<Record<string, unknown>>): ForeignRequest;
  /** What is said of a request of which something was taken, or had nothing wrong with it. */
  accepted(stored: Stored, userAgent: string | null): DialectAnswer;
  /** An error in the shape the protocol's clients understand. */
  refused(code: EdgeErrorCode, calls: readonly RefusedCall[]): DialectAnswer;
}
