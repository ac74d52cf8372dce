import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { CALL_PROBLEMS } from '#pipelines/intake/compat/foreign.ts';
import type { Turns } from '#pipelines/intake/take_batch.ts';
import type { Limited } from '#pipelines/limits/admission.ts';
import { checkKey, type KeyCheck } from '#pipelines/settings/keys.ts';
import type { Caller } from '#schemas/event.ts';
import type { IngestCaller } from '#services/edge/accept.ts';
import { type Answer, limitedHeaders, retryAfterOf, sendAnswer } from '#services/edge/answer.ts';
import { callerSigns, checkCaller, pageOrigin } from '#services/edge/caller.ts';
import type { EdgeContext } from '#services/edge/edge_context.ts';
import type { EdgeErrorCode } from '#services/edge/errors.ts';
import { openTurns } from '#services/edge/event_loop_turns.ts';
import { faultHandler } from '#services/edge/faults.ts';
import { sentBytes, sentQuery } from '#services/edge/sent_request.ts';
import {
  type ForeignRead,
  type ForeignText,
  isLz64,
  parseForeignText,
  readForeignText,
  strangersBytesMax,
} from './body.ts';
import type { Dialect, ForeignRequest, RefusedCall } from './dialect.ts';

/**
 * The routes of a foreign protocol, on the same path as our own. A key in a header or in the query is checked before the
 * body is read; one that is in the body is looked for before anything is parsed, in no more than so small a body may become.
 */
export function mountDialect(app: HttpServer, dialect: Dialect, context: EdgeContext): void {
  void app.register(async (scope) => {
    context.collectBodies(scope, '*', dialect.bodyBytesMax);
    const checked = new WeakMap<HttpRequestIn, KeyCheck>();
    const refuse = (reply: HttpReply, code: EdgeErrorCode): HttpReply => sendAnswer(reply, refused(dialect, code));
    scope.setErrorHandler(
      faultHandler(context.errors, refuse, async (code, request, reply) => {
        if (code === 'overloaded') return refuse(reply, code);
        return sendAnswer(reply, await refusedCounted(dialect, context, request, checked.get(request), code));
      }),
    );
    const onRequest = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
      const check = checkHeaders(dialect, context, request);
      checked.set(request, check);
      if (!check.ok && check.code !== 'key_missing') {
        context.noteRefused(check);
        return sendAnswer(reply, refused(dialect, check.code));
      }
      if (check.ok) context.letIn(request);
      const address = clientAddress(request);
      const known = check.ok ? context.acceptor.limited(address, check) : context.strangers.limited(address);
      return known === null ? undefined : sendAnswer(reply, limitedIn(dialect, known));
    };
    const handle = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> =>
      sendAnswer(reply, await answer(dialect, context, request, checked.get(request)));
    for (const path of dialect.paths) scope.post(path, { onRequest }, handle);
  });
}

function refused(dialect: Dialect, code: EdgeErrorCode): Answer {
  const answer = dialect.refused(code, []);
  return { ...answer, ...retryAfterOf(answer.status) };
}

function limitedIn(dialect: Dialect, limited: Limited): Answer {
  return { ...dialect.refused('rate_limited', []), ...limitedHeaders(limited) };
}

/** Refuses a request for its content, unless its caller's rate is exceeded: it counts all the same. */
async function refusedCounted(
  dialect: Dialect,
  { acceptor }: EdgeContext,
  request: HttpRequestIn,
  caller: KeyCheck | undefined,
  code: EdgeErrorCode,
): Promise<Answer> {
  const known = caller?.ok === true ? await acceptor.countRefused(clientAddress(request), caller, code) : null;
  return known === null ? refused(dialect, code) : limitedIn(dialect, known);
}

function checkHeaders(dialect: Dialect, context: EdgeContext, request: HttpRequestIn): KeyCheck {
  const key = dialect.keyOfHeaders(request.headers.authorization);
  if (key === null) return checkCaller(context.table, request, context.nowMs());
  return checkKey(context.table, key, pageOrigin(request), context.nowMs());
}

async function answer(
  dialect: Dialect,
  context: EdgeContext,
  request: HttpRequestIn,
  early: KeyCheck | undefined,
): Promise<Answer> {
  const text = await readText(dialect, request, early?.ok === true);
  if (!text.ok) {
    if (early?.ok === true) return refusedCounted(dialect, context, request, early, text.code);
    return refusedStranger(dialect, context, request, strangersCode(text.code));
  }
  const caller = early?.ok === true ? early : checkBody(context, request, text.value.outline.key);
  if (!caller.ok) {
    context.noteRefused(caller);
    return refusedStranger(dialect, context, request, caller.code);
  }
  context.letIn(request);
  context.onKeyUsed(caller.key.key_hash);
  const body = await parseForeignText(text.value);
  if (!body.ok) return refusedCounted(dialect, context, request, caller, body.code);
  const path = request.routeOptions.url ?? '';
  const read = dialect.read(path, body.value, request.query as Record<string, unknown>);
  if (!read.ok) return refusedCounted(dialect, context, request, caller, read.code);
  if (read.calls.length > dialect.callsMax) {
    return refusedCounted(dialect, context, request, caller, 'calls_too_many');
  }
  return take(dialect, context, request, caller, read);
}

const SAID_TO_STRANGERS: ReadonlySet<EdgeErrorCode> = new Set([
  'body_too_large',
  'body_too_complex',
  'compression_unsupported',
]);

/** Whose body cannot be read has shown no key; why he cannot be looked for one is said all the same. */
function strangersCode(code: EdgeErrorCode): EdgeErrorCode {
  return SAID_TO_STRANGERS.has(code) ? code : 'key_missing';
}

function refusedStranger(
  dialect: Dialect,
  { strangers }: EdgeContext,
  request: HttpRequestIn,
  code: EdgeErrorCode,
): Answer {
  strangers.saw(clientAddress(request));
  return refused(dialect, code);
}

async function readText(dialect: Dialect, request: HttpRequestIn, isKnown: boolean): Promise<ForeignRead<ForeignText>> {
  if (isLz64(sentQuery(request))) return { ok: false, code: 'compression_unsupported' };
  const bytes = sentBytes(request);
  const bytesMax = isKnown ? dialect.bodyBytesMax : strangersBytesMax(bytes.length, dialect.bodyBytesMax);
  return readForeignText(bytes, request.headers['content-encoding'], dialect.keyPlaces, bytesMax);
}

function checkBody(context: EdgeContext, request: HttpRequestIn, key: string | null): KeyCheck {
  return checkKey(context.table, key, pageOrigin(request), context.nowMs());
}

async function take(
  dialect: Dialect,
  context: EdgeContext,
  request: HttpRequestIn,
  caller: IngestCaller,
  read: Extract<ForeignRequest, { ok: true }>,
): Promise<Answer> {
  const mapped = await mapCalls(read, caller.key.caller, context.nowMs(), openTurns());
  const peer = { clientIp: clientAddress(request), isForeign: true, ...callerSigns(request) };
  const accepted = await context.acceptor.accept(mapped.events, peer, caller, mapped.origins);
  if (!accepted.ok) {
    return accepted.code === 'rate_limited' ? limitedIn(dialect, accepted.limited) : refused(dialect, accepted.code);
  }
  for (const { index, code } of mapped.refused) context.refusals.sawRejected(caller, code, index, read.calls[index]);
  const { rate } = accepted;
  const rejected = accepted.rejected.map((one) => ({ ...one, index: mapped.origins[one.index] ?? -1 }));
  const calls = [...mapped.refused, ...rejected];
  const refusedCalls = new Set(calls.map(({ index }) => index)).size;
  const isRefused = refusedCalls === read.calls.length;
  return {
    ...(isRefused ? dialect.refused('events_rejected', calls) : dialect.accepted(accepted, peer.userAgent)),
    rate,
  };
}

interface MappedCalls {
  events: unknown[];
  /** The call that each event came of. */
  origins: number[];
  refused: RefusedCall[];
}

/** Foreign calls become events in several turns: their names are copied, which costs as much as looking at them. */
async function mapCalls(
  { calls, sentAtMs, map }: Extract<ForeignRequest, { ok: true }>,
  caller: Caller,
  receivedAtMs: number,
  turns: Turns,
): Promise<MappedCalls> {
  const mapped: MappedCalls = { events: [], origins: [], refused: [] };
  for (const [index, call] of calls.entries()) {
    if (turns.isOver()) await turns.next();
    const outcome = map(call, { caller, receivedAtMs, sentAtMs });
    if (outcome.ok) {
      mapped.events.push(outcome.event);
      mapped.origins.push(index);
    } else mapped.refused.push({ index, code: outcome.code, message: CALL_PROBLEMS[outcome.code] });
  }
  return mapped;
}
