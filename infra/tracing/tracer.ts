// What traces are to the processes: spans that are started and ended. Null in place of a tracer: nothing is traced. Of requests are
// traced a share of all, and those of trusted callers who trace them already, up to a rate.
import type { HttpRequestIn } from '#infra/http/http_server.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { readTraceparent, type TraceContext } from '#schemas/trace_context.ts';

/** Names from OpenTelemetry's semantic conventions, and `svc.` for our own. No value is of a person, or a URL, or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | string[]>>;

export interface SpanFacts {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** Milliseconds since 1970 UTC. */
  startMs: number;
  attributes: SpanAttributes;
  /** Null where it begins a trace. */
  parent: TraceContext | null;
  /** A span of another trace that it follows from. */
  link?: TraceContext;
}

/** A span that is not ended is never told of. */
export interface OpenSpan {
  readonly context: TraceContext;
  /** @param error A code of what went wrong. */
  end(endMs: number, attributes?: SpanAttributes, error?: string): void;
}

export interface Tracer {
  /** Share of requests that are traced, from 0 to 1. */
  readonly ratio: number;
  start(facts: SpanFacts): OpenSpan;
  /** Counts spans that are not made, as there were too many. */
  leftOut(spans: number): void;
  /** Tells the collector of what has ended, for a second at the most. */
  stop(): Promise<void>;
}

export interface TracingSettings {
  /** Base URL of the collector; null: nothing is traced. */
  endpoint: string | null;
  ratio: number;
}

/** Opens what sends spans to a collector. What it takes is loaded only where there is one. */
export async function openTracer(
  { endpoint, ratio }: TracingSettings,
  service: { name: string; instance: string },
  metrics: Pick<Metrics, 'counter'>,
): Promise<Tracer | null> {
  if (endpoint === null) return null;
  const { createOtlpTracer } = await import('./otlp_tracer.ts');
  return createOtlpTracer({ endpoint, ratio }, service, metrics);
}

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

const SERVER_ERROR = 500;

/** Begins the span of a request to a server of ours, by method and route; it ends with the answer's status. */
export function startRequestSpan(
  tracer: Pick<Tracer, 'start'>,
  { method, routeOptions: { url: route = '' } }: Pick<HttpRequestIn, 'method' | 'routeOptions'>,
  startMs: number,
  decided: { parent: TraceContext | null },
) {
  const attributes = { 'http.request.method': method, 'http.route': route };
  const name = `${method} ${route}`.trimEnd();
  const span = tracer.start({ name, kind: 'server', startMs, attributes, ...decided });
  return {
    context: span.context,
    end(endMs: number, statusCode: number, more: SpanAttributes = {}): void {
      const error = statusCode >= SERVER_ERROR ? String(statusCode) : undefined;
      span.end(endMs, { 'http.response.status_code': statusCode, ...more }, error);
    },
  };
}
