import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { createBodyScanner } from '#pipelines/intake/fast_path/scan_body.ts';
import { mayScan } from '#pipelines/intake/fast_path/take_scanned.ts';
import { readEnvelope } from '#pipelines/intake/take_event.ts';
import { requestSignals } from './auth.ts';
import { decoded, hasBody, parseJson, sentBody } from './body.ts';
import { type EdgeContext, eventScope } from './edge_context.ts';
import { type Answer, errorAnswer, limitedAnswer, PayloadError, refusal, sendAnswer, withoutBody } from './errors.ts';
import { type Acceptance, EVENTS_MAX } from './ingest_service.ts';

/**
 * POST /v1/ingest: reads a request's events, and answers when Kafka holds what was accepted. A request that is refused for
 * its content counts against the rate all the same, and is refused for its rate where that is exceeded.
 */
export function mountIngest(app: HttpServer, context: EdgeContext): void {
  const { ingestService, requireApiKey, limitRate, callerOf } = context;
  const scanBody = createBodyScanner(EVENTS_MAX);
  const ingest = async (request: HttpRequestIn): Promise<Answer> => {
    if (!hasBody(request)) throw new PayloadError('content_type_unsupported');
    const body = sentBody(request);
    const caller = callerOf(request);
    const signals = requestSignals(request);
    const scanned = mayScan(caller.site, caller.key, signals.gpc) ? scanBody(body) : null;
    const read = scanned ?? readEnvelope(decoded(parseJson(body)), EVENTS_MAX);
    if (!read.ok) {
      const { status, code, message } = read;
      return context.refuseCounted(request, { status, body: { error: { code, message } } });
    }
    const peer = { clientIp: clientAddress(request), sentAtMs: read.sentAtMs, ...signals };
    const total = read.events.length;
    return answerOf(await ingestService.accept(read.events, peer, caller), total);
  };

  eventScope(app, context, {}, (scope) => {
    scope.post('/v1/ingest', { onRequest: [requireApiKey, limitRate] }, async (request, reply) =>
      sendAnswer(reply, await ingest(request)),
    );
  });
}

/**
 * The same of hits: nothing, where it is good. Platforms' scripts and containers also send hits without an event's name, of which
 * Google makes nothing either: that is no fault of the request.
 */
export function answerOfHits(acceptance: Acceptance, total: number): Answer {
  const isNameless = acceptance.ok && acceptance.rejected.every(({ code }) => code === 'event_name_missing');
  return withoutBody(answerOf(isNameless ? { ...acceptance, rejected: [] } : acceptance, total));
}

/** What is said of so many events that were sent. */
export function answerOf(acceptance: Acceptance, total: number): Answer {
  if (!acceptance.ok) {
    return acceptance.code === 'rate_limited' ? limitedAnswer(acceptance.limited) : refusal(acceptance.code);
  }
  const { accepted, dropped, rejected, rate } = acceptance;
  if (rejected.length === total)
    return { status: 400, rate, body: { ...errorAnswer('events_rejected').body, rejected } };
  const body: Record<string, unknown> = { accepted };
  if (dropped > 0) body['dropped'] = dropped;
  if (rejected.length > 0) body['rejected'] = rejected;
  return { status: 200, rate, body };
}
