import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import type { RefusedCaller } from '#pipelines/settings/callers.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { type AnonymousLimiter, checkCaller } from './auth.ts';
import { BODY_BYTES_MAX, payloadReader } from './body.ts';
import type { Permit } from './concurrency_limiter.ts';
import { type EdgeErrorCode, refuse } from './errors.ts';
import type { IngestCaller, IngestService } from './ingest_service.ts';
import type { Refusals } from './site_activity.ts';

/** What the groups of routes get from the process. */
export interface EdgeParts {
  table: SettingsTable;
  ingestService: IngestService;
  strangers: AnonymousLimiter;
  errors: RequestErrors;
  refusals: Refusals;
  /** Called with the hash of every key that was let in. */
  onKeyUsed(keyHash: string): void;
  nowMs(): number;
}

/** A hook of a route: it answers the request itself, or lets it go on with `undefined`. */
export type RequestHook = (request: HttpRequestIn, reply: HttpReply) => Promise<HttpReply | undefined>;

/** What the groups of routes share. */
export interface EdgeContext extends EdgeParts {
  /** Hook `onRequest` that checks the key before the body is read, and refuses where it is not valid. */
  keyed: RequestHook;
  /** Says that the sender of a request has shown a valid key. */
  letIn(request: HttpRequestIn): void;
  /** Hook `onRequest` that refuses a body which is announced as larger than may be. */
  sized: RequestHook;
  /** Who calls; undefined where `keyed` has let nobody in. */
  knownCaller(request: HttpRequestIn): IngestCaller | undefined;
  /** Who calls, on a route behind `keyed`. */
  callerOf(request: HttpRequestIn): IngestCaller;
  refuse(reply: HttpReply, code: EdgeErrorCode): HttpReply;
  /** Notes a request whose caller is refused, where it is known whose site it was for. */
  noteRefused(check: { code: string; refused?: RefusedCaller }): void;
  /** Has the bodies of these content types collected as bytes, each counted against the permit of its request. */
  collectBodies(scope: HttpServer, contentTypes: string | string[], bytesMax: number): void;
}

/** The context of one server. `permitOf` gives the permit that the request holds. */
export function createEdgeContext(
  parts: EdgeParts,
  permitOf: (request: HttpRequestIn) => Permit | undefined,
): EdgeContext {
  const callers = new WeakMap<HttpRequestIn, IngestCaller>();
  const noteRefused: EdgeContext['noteRefused'] = ({ code, refused }) => {
    if (refused !== undefined) parts.refusals.sawRequest(refused, code);
  };
  return {
    ...parts,
    noteRefused,
    async keyed(request, reply) {
      const check = checkCaller(parts.table, request, parts.nowMs());
      if (!check.ok) {
        // What only asks for the configuration brings nothing that could have been accepted.
        if (request.method === 'POST') noteRefused(check);
        return refuse(reply, check.code);
      }
      callers.set(request, check);
      permitOf(request)?.know();
      parts.onKeyUsed(check.key.key_hash);
      return undefined;
    },
    letIn: (request) => permitOf(request)?.know(),
    async sized(request, reply) {
      const announced = Number(request.headers['content-length'] ?? 0);
      return announced > BODY_BYTES_MAX ? refuse(reply, 'body_too_large') : undefined;
    },
    knownCaller: (request) => callers.get(request),
    callerOf: (request) => callers.get(request) as IngestCaller,
    refuse,
    collectBodies(scope, contentTypes, bytesMax) {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(contentTypes, payloadReader(bytesMax, permitOf));
    },
  };
}
