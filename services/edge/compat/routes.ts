import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/server.ts';
import { CALL_PROBLEMS } from '#pipelines/intake/compat/foreign.ts';
import { checkKey, type KeyCheck } from '#pipelines/settings/keys.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Acceptance, Peer } from '#services/edge/accept.ts';
import { callerSigns, checkCaller } from '#services/edge/caller.ts';
import { type EdgeErrorCode, RETRY_AFTER_S } from '#services/edge/errors.ts';
import type { IngestCaller } from '#services/edge/ingest.ts';
import { readForeignBody } from './body.ts';
import type { Dialect, DialectAnswer, ForeignRequest, RefusedCall } from './dialect.ts';

export interface CompatOptions {
  table: SettingsTable;
  accept(events: readonly unknown[], peer: Peer, caller: IngestCaller): Promise<Acceptance>;
  onKeyUsed(keyHash: string): void;
  /** Adds the parser that collects bodies of any type, of at most so many bytes. */
  collectBodies(scope: HttpServer, bytesMax: number): void;
  /** Reads the server's own errors; null: nobody foresaw it. */
  faultOf(error: unknown): EdgeErrorCode | null;
  onFatal(error: unknown): void;
  nowMs(): number;
}

/**
 * The routes of a foreign protocol, on the same path as our own. A key in a header or in the query is checked before the
 * body is read; one that is in the body can only be checked then, within the bounds of size.
 */
export function mountDialect(app: HttpServer, dialect: Dialect, options: CompatOptions): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    options.collectBodies(scope, dialect.bodyBytesMax);
    const refuse = (reply: HttpReply, code: EdgeErrorCode): HttpReply => send(reply, dialect.refused(code, []));
    scope.setErrorHandler((error, _request, reply) => {
      const code = options.faultOf(error);
      if (code === null) options.onFatal(error);
      return refuse(reply, code ?? 'overloaded');
    });
    const checked = new WeakMap<HttpRequestIn, KeyCheck>();
    const onRequest = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
      const check = checkHeaders(dialect, options, request);
      checked.set(request, check);
      return check.ok || check.code === 'key_missing' ? undefined : refuse(reply, check.code);
    };
    const handle = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> =>
      send(reply, await answer(dialect, options, request, checked.get(request)));
    for (const path of dialect.paths) scope.post(path, { onRequest }, handle);
  });
}

function send(reply: HttpReply, { status, body }: DialectAnswer): HttpReply {
  if (status === 503) reply.header('retry-after', String(RETRY_AFTER_S));
  return reply.code(status).send(body);
}

function checkHeaders(dialect: Dialect, options: CompatOptions, request: HttpRequestIn): KeyCheck {
  const key = dialect.keyOfHeaders(request.headers.authorization);
  if (key === null) return checkCaller(options.table, request, options.nowMs());
  return checkKey(options.table, key, request.headers.origin ?? null, options.nowMs());
}

async function answer(
  dialect: Dialect,
  options: CompatOptions,
  request: HttpRequestIn,
  early: KeyCheck | undefined,
): Promise<DialectAnswer> {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const body = readForeignBody(bytes, request.headers['content-encoding'], dialect.bodyBytesMax);
  if (!body.ok) return dialect.refused(early?.ok === true ? body.code : strangersCode(body.code), []);
  const caller = early?.ok === true ? early : checkBody(dialect, options, request, body.value);
  if (!caller.ok) return dialect.refused(caller.code, []);
  options.onKeyUsed(caller.key.key_hash);
  const path = request.routeOptions.url ?? '';
  const read = dialect.read(path, body.value, request.query as Record<string, unknown>);
  if (!read.ok) return dialect.refused(read.code, []);
  if (read.calls.length > dialect.callsMax) return dialect.refused('calls_too_many', []);
  return take(dialect, options, request, caller, read);
}

/** Whose body cannot be read has shown no key; that it is too large is said all the same. */
function strangersCode(code: EdgeErrorCode): EdgeErrorCode {
  return code === 'body_too_large' ? code : 'key_missing';
}

function checkBody(dialect: Dialect, options: CompatOptions, request: HttpRequestIn, body: unknown): KeyCheck {
  const key = dialect.keyOfBody(body);
  const presented = typeof key === 'string' ? key : null;
  return checkKey(options.table, presented, request.headers.origin ?? null, options.nowMs());
}

async function take(
  dialect: Dialect,
  options: CompatOptions,
  request: HttpRequestIn,
  caller: IngestCaller,
  read: Extract<ForeignRequest, { ok: true }>,
): Promise<DialectAnswer> {
  const mapped = mapCalls(read, options.nowMs());
  const accepted = await options.accept(mapped.events, { clientIp: request.ip, ...callerSigns(request) }, caller);
  if (!accepted.ok) return dialect.refused(accepted.code, []);
  const rejected = accepted.rejected.map((one) => ({ ...one, index: mapped.origins[one.index] ?? -1 }));
  const refused = [...mapped.refused, ...rejected];
  const refusedCalls = new Set(refused.map(({ index }) => index)).size;
  return refusedCalls === read.calls.length ? dialect.refused('events_rejected', refused) : dialect.accepted();
}

interface MappedCalls {
  events: unknown[];
  /** The call that each event came of. */
  origins: number[];
  refused: RefusedCall[];
}

function mapCalls({ calls, sentAtMs, map }: Extract<ForeignRequest, { ok: true }>, receivedAtMs: number): MappedCalls {
  const mapped: MappedCalls = { events: [], origins: [], refused: [] };
  calls.forEach((call, index) => {
    const outcome = map(call, { receivedAtMs, sentAtMs });
    if (!outcome.ok) {
      mapped.refused.push({ index, code: outcome.code, message: CALL_PROBLEMS[outcome.code] });
      return;
    }
    for (const event of outcome.events) {
      mapped.events.push(event);
      mapped.origins.push(index);
    }
  });
  return mapped;
}
