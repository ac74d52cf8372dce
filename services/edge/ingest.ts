import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import { readEnvelope } from '#pipelines/intake/envelope.ts';
import { type Acceptance, type Acceptor, EVENTS_MAX, type IngestCaller } from './accept.ts';
import { type Answer, limitedAnswer, refusal } from './answer.ts';
import { callerSigns } from './caller.ts';
import { BODY_BYTES_MAX, decompress, parseJson } from './decode.ts';
import { errorAnswer } from './errors.ts';

/** POST /v1/ingest: reads a request's events, and answers when Kafka holds what was accepted. */
export function createIngest(acceptor: Acceptor): (request: HttpRequestIn, caller: IngestCaller) => Promise<Answer> {
  return async (request, caller) => {
    const read = readEvents(request);
    if (!read.ok) {
      const limited = await acceptor.countRefused(clientAddress(request), caller);
      return limited === null ? read.answer : limitedAnswer(limited);
    }
    const peer = { clientIp: clientAddress(request), ...callerSigns(request) };
    return answerOf(await acceptor.accept(read.events, peer, caller), read.events.length);
  };
}

type Read = { ok: true; events: readonly unknown[] } | { ok: false; answer: Answer };

function readEvents(request: HttpRequestIn): Read {
  const bytes = decompress(request.body as Buffer, request.headers['content-encoding'], BODY_BYTES_MAX);
  const body = bytes.ok ? parseJson(bytes.value) : bytes;
  if (!body.ok) return { ok: false, answer: refusal(body.code) };
  const envelope = readEnvelope(body.value, EVENTS_MAX);
  if (envelope.ok) return envelope;
  const { status, code, message } = envelope;
  return { ok: false, answer: { status, body: { error: { code, message } } } };
}

function answerOf(acceptance: Acceptance, total: number): Answer {
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
