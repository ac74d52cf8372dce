// W3C trace context as it stands in headers: of requests, and of records, which carry sampled traces alone.
import type { SourcePosition } from './event.ts';
import { type RecordHeaders, textOf } from './wire.ts';

/** A span of a sampled trace, which others may be children of. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  traceId: string;
  /** 16 of them. */
  spanId: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const TRACEPARENT_CHARACTERS = 55;
const CHARACTERS_MAX = 512;
const SAMPLED = 1;

/** Reads a `traceparent`, of later versions what version 00 has too; null where it is none. */
export function readTraceparent(text: string): { context: TraceContext; isSampled: boolean } | null {
  const [, version, traceId = '', spanId = '', flags = ''] =
    text.length <= CHARACTERS_MAX ? (TRACEPARENT.exec(text) ?? []) : [];
  if (version === undefined || version === 'ff') return null;
  if (version === '00' && text.length !== TRACEPARENT_CHARACTERS) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { context: { traceId, spanId }, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export const writeTraceparent = ({ traceId, spanId }: TraceContext): string => `00-${traceId}-${spanId}-01`;

/** The trace of the events that came by one record of events.raw. */
export interface CarriedTrace {
  /** Of the record of events.raw: what the source positions of its events share. */
  partition: number;
  offset: number;
  context: TraceContext;
  /** When the span of the context began; milliseconds since 1970 UTC. */
  sinceMs: number;
}

/** Of a record whose events are all of one request. */
const TRACEPARENT_HEADER = 'traceparent';
/** Of a record that holds events of many. */
const TRACES_HEADER = 'traces';
/** In one header; some 80 bytes each. */
export const TRACES_MAX = 256;

export const requestTraceHeaders = (context: TraceContext): Record<string, string> => ({
  [TRACEPARENT_HEADER]: writeTraceparent(context),
});

/** Headers of a record that holds events of these traces, the first 256 of them; undefined where there are none. */
export function traceHeaders(traces: Iterable<CarriedTrace>): Record<string, string> | undefined {
  const text = [...traces]
    .slice(0, TRACES_MAX)
    .map(({ partition, offset, sinceMs, context }) => `${partition}/${offset}/${sinceMs}=${writeTraceparent(context)}`)
    .join();
  return text === '' ? undefined : { [TRACES_HEADER]: text };
}

/** The header of a record that holds events of many, for one that the same events are moved to. */
export function movedTraceHeaders(headers: RecordHeaders): Record<string, string> | undefined {
  const text = textOf(headers[TRACES_HEADER]);
  return text === '' ? undefined : { [TRACES_HEADER]: text };
}

const CARRIED = /^(\d{1,9})\/(\d{1,15})\/(\d{1,15})=(.+)$/;

/** The sampled traces that a record's headers name; what cannot be read says nothing. */
export function readTraceHeaders(
  headers: RecordHeaders,
  record: { partition: number; offset: number; timestampMs: number },
): CarriedTrace[] {
  const own = readTraceparent(textOf(headers[TRACEPARENT_HEADER]));
  if (own?.isSampled === true) {
    const { partition, offset, timestampMs: sinceMs } = record;
    return [{ partition, offset, sinceMs, context: own.context }];
  }
  const list = textOf(headers[TRACES_HEADER]);
  if (list === '') return [];
  return list.split(',', TRACES_MAX).flatMap((item) => {
    const [, partition, offset, sinceMs, traceparent = ''] = CARRIED.exec(item) ?? [];
    const read = readTraceparent(traceparent);
    if (read === null) return [];
    return [{ partition: Number(partition), offset: Number(offset), sinceMs: Number(sinceMs), context: read.context }];
  });
}

/** Traces by the record of events.raw that their events came by. */
export interface TraceIndex<Trace extends Pick<CarriedTrace, 'partition' | 'offset'>> {
  of(position: Pick<SourcePosition, 'partition' | 'offset'> | null): Trace | undefined;
}

export function indexTraces<Trace extends Pick<CarriedTrace, 'partition' | 'offset'>>(
  traces: readonly Trace[],
): TraceIndex<Trace> {
  const byOffset = Map.groupBy(traces, ({ offset }) => offset);
  return {
    of: (position) =>
      position === null
        ? undefined
        : byOffset.get(position.offset)?.find(({ partition }) => partition === position.partition),
  };
}
