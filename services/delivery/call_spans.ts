// Spans of calls to a platform, and what of the outcomes of a batch its spans tell.
import type { OpenSpan, SpanAttributes } from '#infra/tracing/tracer.ts';
import type { Answer, HttpRequest, SerializedEvent } from '#pipelines/delivery/contract.ts';
import type { CarriedTrace } from '#schemas/trace_context.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import type { Attempted } from './attempts.ts';
import type { SiteJob } from './job_reader.ts';
import { isSilent } from './output.ts';

const CLIENT_ERROR = 400;

/** What ends the spans of a call, one for each trace that it is for; null where it is for none. */
export function beginCall(
  { spans, siteId, destination, attempt }: Pick<SiteJob, 'spans' | 'siteId' | 'destination' | 'attempt'>,
  { method, url }: HttpRequest,
  sent: readonly Pick<SerializedEvent, 'entry'>[],
  startMs: number,
): ((answer: Answer, endMs: number) => void) | null {
  if (spans === null) return null;
  const traces = new Set(sent.map(({ entry }) => spans.of(entry.coordinate)).filter((trace) => trace !== undefined));
  if (traces.size === 0) return null;
  const attributes = {
    'http.request.method': method,
    // Of an address no more than its host: what stands behind it may be a secret.
    'server.address': URL.parse(url)?.hostname ?? '',
    ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
    'svc.destination': destination,
    'svc.site': siteId,
  };
  const calls = [...traces].map(
    ({ context }): OpenSpan => spans.start({ name: method, kind: 'client', startMs, attributes, parent: context }),
  );
  return (answer, endMs) => {
    const status = answer.kind === 'answered' ? answer.status : null;
    const error = answer.kind === 'answered' ? null : answer.reason;
    const failure = error ?? (status !== null && status >= CLIENT_ERROR ? String(status) : undefined);
    for (const call of calls) call.end(endMs, status === null ? {} : { 'http.response.status_code': status }, failure);
  };
}

/** What came of each trace's events; null of those that the destination has nothing to do with. */
export function outcomesOf(spans: BatchSpans, attempted: readonly Attempted[]) {
  const outcomes = new Map<CarriedTrace, Set<string>>();
  for (const one of attempted) {
    const trace = spans.of(one.entry.coordinate);
    if (trace === undefined || isSilent(one)) continue;
    const { outcome, reason } = one.outcome;
    outcomes.set(trace, (outcomes.get(trace) ?? new Set()).add(reason === '' ? outcome : `${outcome}: ${reason}`));
  }
  return (trace: CarriedTrace): SpanAttributes | null => {
    const found = outcomes.get(trace);
    return found === undefined ? null : { 'svc.outcomes': [...found] };
  };
}
