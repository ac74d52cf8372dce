import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { createBodyScanner } from '#pipelines/intake/fast_path/scan_body.ts';
import { mayScan } from '#pipelines/intake/fast_path/take_scanned.ts';
import { readEnvelope } from '#pipelines/intake/take_event.ts';
import { requestSignals } from './auth.ts';
import { type BodyTurn, createBodyTurns, decoded, hasBody, parseJson, sentBody } from './body.ts';
import { type EdgeContext, eventScope } from './edge_context.ts';
import { type Answer, errorAnswer, limitedAnswer, PayloadError, refusal, sendAnswer, withoutBody } from './errors.ts';
import { type Acceptance, asksForHistory, EVENTS_MAX } from './ingest_service.ts';

/** Some 1,000 events: at the interval at which Redis is asked, more than an edge can take. */
const READ_BYTES_MAX = 512 * 1024;

/**
 * POST /v1/ingest: reads a request's events, and answers when Kafka holds what was accepted. A request that is refused for
 * its content counts against the rate all the same, and is refused for its rate where that is exceeded.
 */
export function mountIngest(app: HttpServer, context: EdgeContext): void {
  const { ingestService, requireApiKey, limitRate, callerOf } = context;
  const scanBody = createBodyScanner(EVENTS_MAX);
  const bodyTurns = createBodyTurns(READ_BYTES_MAX);
  const ingest = async (request: HttpRequestIn): Promise<Answer> => {
    if (!hasBody(request)) throw new PayloadError('content_type_unsupported');
    const body = sentBody(request);
    const turn = await bodyTurns.take(body.length);
    try {
      return await read(request, body, turn);
    } finally {
      turn.end();
    }
  };

  /** Not async: what such a function has read would live for as long as it waits. */
  function read(request: HttpRequestIn, body: Buffer, turn: BodyTurn): Answer | Promise<Answer> {
    const caller = callerOf(request);
    const signals = requestSignals(request);
    const scanned = mayScan(caller.site, caller.key, signals.gpc) ? scanBody(body, caller.key) : null;
    const envelope = scanned ?? readEnvelope(decoded(parseJson(body)), EVENTS_MAX);
    if (!envelope.ok) {
      const { status, code, message } = envelope;
      return context.refuseCounted(request, { status, body: { error: { code, message } } });
    }
    const isHistorical = 'historical' in envelope && asksForHistory(envelope.historical, caller);
    const peer = { clientIp: clientAddress(request), sentAtMs: envelope.sentAtMs, isHistorical, ...signals };
    const total = envelope.events.length;
    const accepting = ingestService.accept(envelope.events, peer, caller, undefined, turn);
    return accepting.then((acceptance) => answerOf(acceptance, total));
  }

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
