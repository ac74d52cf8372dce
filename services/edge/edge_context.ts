import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import type { RefusedCaller } from '#pipelines/settings/callers.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { type AnonymousLimiter, checkCaller, namedSite } from './auth.ts';
import { BODY_BYTES_MAX, payloadReader } from './body.ts';
import {
  type Answer,
  type EdgeErrorCode,
  errorCodeOf,
  errorHandler,
  limitedAnswer,
  refusal,
  refuse,
  sendAnswer,
} from './errors.ts';
import type { IngestCaller, IngestService } from './ingest_service.ts';
import type { RequestSpan, RequestSpans } from './request_spans.ts';
import type { RejectionRecorder } from './site_activity.ts';

/** What the groups of routes get from the process. */
export interface EdgeParts {
  table: SettingsTable;
  ingestService: IngestService;
  anonymousLimiter: AnonymousLimiter;
  errors: RequestErrors;
  rejections: RejectionRecorder;
  /** Null where nothing is traced. */
  spans: RequestSpans | null;
  /** Called with the hash of every key that was let in. */
  onKeyUsed(keyHash: string): void;
  nowMs(): number;
}

/** A hook of a route: it answers the request itself, or lets it go on. No promise: every request would wait for several. */
export type RequestHook = (request: HttpRequestIn, reply: HttpReply, goOn: () => void) => void;

type CallerCheck = ({ ok: true } & IngestCaller) | { ok: false; code: EdgeErrorCode; refused?: RefusedCaller };

/** What the groups of routes share. */
export type EdgeContext = ReturnType<typeof createEdgeContext>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who has shown to be its sender; undefined where nobody is known. */
    caller: IngestCaller | undefined;
    /** Null where it is not traced. */
    span: RequestSpan | null;
  }
}

const callerOf = (request: HttpRequestIn): IngestCaller => request.caller as IngestCaller;

export function createEdgeContext(parts: EdgeParts, app: HttpServer) {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('span', null);
  if (parts.spans !== null) {
    app.addHook('onResponse', (request, reply, done) => {
      request.span?.end(reply);
      done();
    });
  }
  /** Notes a request whose caller is refused, where it is known, or likely, whose site it was for. */
  const noteRefused = (request: HttpRequestIn, { code, refused }: { code: string; refused?: RefusedCaller }): void => {
    const site = code === 'key_invalid' ? namedSite(parts.table, request) : undefined;
    const known = site === undefined ? refused : { siteId: site.site_id, key: null };
    if (known !== undefined) parts.rejections.recordRequest(known, code);
  };
  /** Says who has shown to be the sender of a request. */
  const markKnown = (request: HttpRequestIn, caller: IngestCaller): void => {
    request.caller = caller;
    if (parts.spans !== null) request.span = parts.spans.begin(request, caller);
    request.permit?.know();
  };
  /** Hook `onRequest` behind one that knows the caller: refuses where the rate is known to be exceeded. */
  const limitRate: RequestHook = (request, reply, goOn) => {
    const limited = parts.ingestService.limited(clientAddress(request), callerOf(request));
    if (limited === null) goOn();
    else sendAnswer(reply, limitedAnswer(limited));
  };
  /** Hook `onRequest` that checks the key before the body is read, and refuses where it is not valid. */
  const requireApiKey: RequestHook = (request, reply, goOn) => {
    const check = checkCaller(parts.table, request, parts.nowMs());
    if (!check.ok) {
      // A tag that is refused its configuration sends nothing, so this is all that is ever heard of its page.
      noteRefused(request, check);
      refuse(reply, check.code);
      return;
    }
    markKnown(request, check);
    parts.onKeyUsed(check.key.key_hash);
    goOn();
  };
  /** Hook `onRequest` that refuses a body which is announced as larger than may be. */
  const limitBodySize: RequestHook = (request, reply, goOn) => {
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > BODY_BYTES_MAX) refuse(reply, 'body_too_large');
    else goOn();
  };
  return {
    ...parts,
    noteRefused,
    markKnown,
    limitRate,
    requireApiKey,
    limitBodySize,
    refuse,
    /** A hook in the place of requireApiKey and limitRate, where something else than our key tells who calls. */
    requireCaller:
      (check: (request: HttpRequestIn) => CallerCheck): RequestHook =>
      (request, reply, goOn) => {
        const checked = check(request);
        if (!checked.ok) {
          noteRefused(request, checked);
          refuse(reply, checked.code);
          return;
        }
        markKnown(request, checked);
        limitRate(request, reply, goOn);
      },
    /** Who calls; undefined where nobody is known. */
    knownCaller: (request: HttpRequestIn): IngestCaller | undefined => request.caller,
    /** Who calls, on a route behind one of these hooks. */
    callerOf,
    /**
     * The answer to a request of which nothing is taken: one of a known caller counts against the rate, and where that is
     * exceeded, this is the answer instead.
     */
    async refuseCounted(request: HttpRequestIn, answer: Answer): Promise<Answer> {
      const caller = request.caller;
      if (caller === undefined) return answer;
      const limited = await parts.ingestService.countRefused(clientAddress(request), caller, errorCodeOf(answer));
      return limited === null ? answer : limitedAnswer(limited);
    },
    /** Has the bodies of these content types collected as bytes, each counted against the permit of its request. */
    collectBodies(scope: HttpServer, contentTypes: string | string[], bytesMax: number): void {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(contentTypes, payloadReader(bytesMax));
    },
  };
}

interface EventScope {
  /** Content types whose bodies are collected, and up to how many bytes; left out: those of the whole app. */
  bodies?: [contentTypes: string | string[], bytesMax: number];
  /** An error as the protocol of the routes has it; left out: as ours. */
  shaped?(code: EdgeErrorCode): Answer;
  /** What is answered for a fault in a request; left out: it counts against the rate of a caller who is known. */
  refused?(request: HttpRequestIn, code: EdgeErrorCode): Promise<Answer>;
  send?(request: HttpRequestIn, reply: HttpReply, answer: Answer): HttpReply;
}

/** Mounts a group of routes. What is refused as too much waits counts against nobody's rate. */
export function eventScope(
  app: HttpServer,
  context: EdgeContext,
  { bodies, shaped = refusal, ...options }: EventScope,
  mount: (scope: HttpServer) => void,
): void {
  const { refused = (request, code) => context.refuseCounted(request, shaped(code)) } = options;
  const { send = (_request, reply, answer) => sendAnswer(reply, answer) } = options;
  const internal = (reply: HttpReply, code: EdgeErrorCode): HttpReply => sendAnswer(reply, shaped(code));
  void app.register(async (scope) => {
    if (bodies !== undefined) context.collectBodies(scope, ...bodies);
    scope.setErrorHandler(
      errorHandler(context.errors, internal, async (code, request, reply) =>
        send(request, reply, code === 'overloaded' ? shaped(code) : await refused(request, code)),
      ),
    );
    mount(scope);
  });
}
