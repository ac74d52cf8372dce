import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { measurementProblems } from '#pipelines/intake/ga4/measurement_problems.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { REJECTIONS } from '#pipelines/intake/rejections.ts';
import { checkKey, type KeyCheck, type RefusedCaller } from '#pipelines/settings/keys.ts';
import type { IngestCaller } from '#services/edge/accept.ts';
import { type Answer, limitedAnswer, refusal, sendAnswer, withoutBody } from '#services/edge/answer.ts';
import { callerSigns, checkCaller, KEY_REPEATED, pageOrigin } from '#services/edge/caller.ts';
import { BODY_BYTES_MAX, type Decoded, parseJson } from '#services/edge/decode.ts';
import type { EdgeContext } from '#services/edge/edge_context.ts';
import { faultHandler } from '#services/edge/faults.ts';
import { answerOf } from '#services/edge/ingest.ts';
import { refuseCounted } from '#services/edge/refuse_counted.ts';
import { sentBody } from '#services/edge/sent_request.ts';

export const MEASUREMENT_PATH = '/mp/collect';
export const MEASUREMENT_DEBUG_PATH = '/debug/mp/collect';

/**
 * POST /mp/collect, GA4's Measurement Protocol: one of the site's server keys stands for the `api_secret`, and names the
 * site. Answers 204 when Kafka holds what was accepted. Under /debug it tells, as Google's validation server does, what
 * Google would object to, and keeps nothing.
 *
 * @param secret Makes the ids of purchases that a browser reports as well.
 */
export function mountMeasurements(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  const callers = new WeakMap<HttpRequestIn, IngestCaller>();
  const counted = async (request: HttpRequestIn, answer: Answer): Promise<Answer> => {
    const caller = callers.get(request);
    return caller === undefined ? answer : refuseCounted(context.acceptor, request, caller, answer);
  };
  const onRequest = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkSecret(context, request);
    if (!check.ok) {
      context.noteRefused(check);
      return context.refuse(reply, check.code);
    }
    callers.set(request, check);
    context.letIn(request);
    context.onKeyUsed(check.key.key_hash);
    const limited = context.acceptor.limited(clientAddress(request), check);
    return limited === null ? undefined : sendAnswer(reply, limitedAnswer(limited));
  };
  const collect = async (request: HttpRequestIn): Promise<Answer> => {
    const read = measurementsOf(request, secret);
    if (!read.ok) return counted(request, read.answer);
    const peer = { clientIp: clientAddress(request), isForeign: true, ...callerSigns(request) };
    const accepted = await context.acceptor.accept(read.events, peer, callers.get(request) as IngestCaller);
    return withoutBody(answerOf(accepted, read.events.length));
  };
  const debug = async (request: HttpRequestIn): Promise<Answer> => {
    const body = bodyOf(request);
    if (!body.ok) return counted(request, refusal(body.code));
    return counted(request, { status: 200, body: { validationMessages: measurementProblems(body.value) } });
  };

  void app.register(async (scope) => {
    context.collectBodies(scope, '*', BODY_BYTES_MAX);
    scope.setErrorHandler(
      faultHandler(context.errors, context.refuse, async (code, request, reply) => {
        if (code === 'overloaded') return context.refuse(reply, code);
        return sendAnswer(reply, await counted(request, refusal(code)));
      }),
    );
    scope.post(MEASUREMENT_PATH, { onRequest }, async (request, reply) => sendAnswer(reply, await collect(request)));
    scope.post(MEASUREMENT_DEBUG_PATH, { onRequest }, async (request, reply) =>
      sendAnswer(reply, await debug(request)),
    );
  });
}

type SecretCheck = KeyCheck | { ok: false; code: 'server_key_required'; refused: RefusedCaller };

/** A browser key may not say whose device it reports for, so that a secret is asked for as Google asks for one. */
function checkSecret({ table, nowMs }: EdgeContext, request: HttpRequestIn): SecretCheck {
  const { api_secret: secret } = request.query as Record<string, unknown>;
  if (Array.isArray(secret)) return KEY_REPEATED;
  const check =
    typeof secret === 'string'
      ? checkKey(table, secret, pageOrigin(request), nowMs())
      : checkCaller(table, request, nowMs());
  if (!check.ok || check.key.caller === 'server') return check;
  return { ok: false, code: 'server_key_required', refused: { siteId: check.site.site_id, key: check.key } };
}

function bodyOf(request: HttpRequestIn): Decoded<unknown> {
  const bytes = sentBody(request);
  return bytes.ok ? parseJson(bytes.value) : bytes;
}

type Measurements = { ok: true; events: readonly unknown[] } | { ok: false; answer: Answer };

function measurementsOf(request: HttpRequestIn, secret: Buffer): Measurements {
  const body = bodyOf(request);
  if (!body.ok) return { ok: false, answer: refusal(body.code) };
  const read = readMeasurements(body.value, secret);
  if (read.ok) return read;
  const { problem } = read;
  if (problem === 'client_id_missing' || problem === 'events_too_many' || problem === 'parameters_too_many') {
    return { ok: false, answer: refusal(problem) };
  }
  const error = { code: problem, message: REJECTIONS[problem] };
  return { ok: false, answer: { status: 400, body: { error } } };
}
