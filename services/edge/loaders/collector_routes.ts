import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { RefusedCaller } from '#pipelines/settings/keys.ts';
import { siteCaller } from '#pipelines/settings/measurement_site.ts';
import { visitorOf } from '#pipelines/tag/visitor_cookie.ts';
import type { IngestCaller } from '../accept.ts';
import { type Answer, limitedAnswer, refusal, sendAnswer } from '../answer.ts';
import { callerSigns, pageOrigin } from '../caller.ts';
import { BODY_BYTES_MAX } from '../decode.ts';
import type { EdgeContext } from '../edge_context.ts';
import type { EdgeErrorCode } from '../errors.ts';
import { faultHandler } from '../faults.ts';
import { answerOfHits } from '../ingest.ts';
import { refuseCounted } from '../refuse_counted.ts';
import { servedSite } from '../served_site.ts';
import { COLLECTOR_PATHS, COLLECTORS, type CollectorPath } from './collector_paths.ts';
import { READERS } from './read_hits.ts';

type Check = ({ ok: true } & IngestCaller) | { ok: false; code: EdgeErrorCode; refused?: RefusedCaller };

/**
 * GET and POST /a/c and /s/p, POST /t/e: hits of GA4's, Meta's and TikTok's tags, on a verified domain. They end here: each
 * becomes an event of the site's, with the visitor's address, and is delivered like all others. The answer is 204 with
 * nothing in it, when Kafka holds what was accepted.
 *
 * @param secret Makes digests that nobody else can, for hits that have no id.
 */
export function mountCollectors(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  const callers = new WeakMap<HttpRequestIn, IngestCaller>();
  const onRequest = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkHost(context, request);
    if (!check.ok) {
      context.noteRefused(check);
      return context.refuse(reply, check.code);
    }
    callers.set(request, check);
    context.letIn(request);
    const limited = context.acceptor.limited(clientAddress(request), check);
    return limited === null ? undefined : sendAnswer(reply, limitedAnswer(limited));
  };
  const counted = async (request: HttpRequestIn, code: EdgeErrorCode): Promise<Answer> => {
    const caller = callers.get(request);
    if (caller === undefined) return refusal(code);
    return refuseCounted(context.acceptor, request, caller, refusal(code));
  };
  const collect = async (request: HttpRequestIn, path: CollectorPath): Promise<Answer> => {
    const caller = callers.get(request) as IngestCaller;
    const { site, key } = caller;
    const visitor = site.mode === 'online' ? visitorOf(request.headers.cookie) : null;
    const read = await READERS[path](request, { table: context.table, site, key, visitor, secret });
    if (!read.ok) return counted(request, read.code);
    context.onKeyUsed(key.key_hash);
    const peer = { clientIp: clientAddress(request), ...callerSigns(request) };
    return answerOfHits(await context.acceptor.accept(read.events, peer, caller), read.events.length);
  };

  void app.register(async (scope) => {
    context.collectBodies(scope, '*', BODY_BYTES_MAX);
    scope.setErrorHandler(
      faultHandler(context.errors, context.refuse, async (code, request, reply) =>
        code === 'overloaded' ? context.refuse(reply, code) : sendAnswer(reply, await counted(request, code)),
      ),
    );
    for (const path of COLLECTORS) {
      for (const url of COLLECTOR_PATHS[path].flatMap((one) => [one, `/:prefix${one}`])) {
        scope.route({
          method: path === '/t/e' ? ['POST'] : ['GET', 'POST'],
          url,
          onRequest,
          handler: async (request, reply) => sendAnswer(reply, await collect(request, path)),
        });
      }
    }
  });
}

/** Whose a hit is: that of the host's site, under the key that its pages would send. */
function checkHost({ table, nowMs }: EdgeContext, request: HttpRequestIn): Check {
  const served = servedSite(table, request);
  const { prefix } = request.params as { prefix?: string };
  if (!served.ok) return { ok: false, code: prefix === undefined ? served.code : 'not_found' };
  if (prefix !== undefined && prefix !== served.site.loader_prefix) return { ok: false, code: 'not_found' };
  return siteCaller(table, served.site, pageOrigin(request), nowMs());
}
