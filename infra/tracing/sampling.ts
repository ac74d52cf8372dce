// Which requests are traced: a share of all, and those of trusted callers who trace them already, up to a rate.
import { readTraceparent, type TraceContext } from '#schemas/trace_context.ts';

interface SamplingOptions {
  /** Share of requests, from 0 to 1. */
  ratio: number;
  /** From 0 to below 1. */
  random(): number;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
}

/** A second, of requests that are traced because their callers say so. */
const ASKED_PER_S_MAX = 10;
const WINDOW_MS = 1_000;

export function createSampling({ ratio, random, nowMs }: SamplingOptions) {
  let windowEndMs = Number.NEGATIVE_INFINITY;
  let asked = 0;

  function isWithinRate(): boolean {
    const now = nowMs();
    if (now >= windowEndMs) {
      windowEndMs = now + WINDOW_MS;
      asked = 0;
    }
    asked += 1;
    return asked <= ASKED_PER_S_MAX;
  }

  return {
    /**
     * Null: the request is not traced. Else the span of the caller that its own is a child of; null where it begins a trace.
     *
     * @param traceparent What the request says, of a caller who is trusted; others are not heard.
     */
    decide(traceparent: string | undefined): { parent: TraceContext | null } | null {
      const said = traceparent === undefined ? null : readTraceparent(traceparent);
      if (said !== null && !said.isSampled) return null;
      if (said !== null && isWithinRate()) return { parent: said.context };
      return random() < ratio ? { parent: said?.context ?? null } : null;
    },
  };
}
