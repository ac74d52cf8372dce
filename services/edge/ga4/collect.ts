import {
  clientAddress,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  requestHost,
} from '#infra/http/http_server.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import type { Hit } from '#pipelines/intake/ga4/hits.ts';
import type { RefusedCaller } from '#pipelines/settings/keys.ts';
import { findMeasurementSite, type MeasurementSite } from '#pipelines/settings/measurement_site.ts';
import type { IngestCaller } from '#services/edge/accept.ts';
import { type Answer, limitedAnswer, refusal, sendAnswer } from '#services/edge/answer.ts';
import { callerSigns, checkCaller, pageOrigin, presentsKey } from '#services/edge/caller.ts';
import { BODY_BYTES_MAX } from '#services/edge/decode.ts';
import type { EdgeContext } from '#services/edge/edge_context.ts';
import type { EdgeErrorCode } from '#services/edge/errors.ts';
import { faultHandler } from '#services/edge/faults.ts';
import { answerOfHits } from '#services/edge/ingest.ts';
import { refuseCounted } from '#services/edge/refuse_counted.ts';
import { sentBody, sentQuery } from '#services/edge/sent_request.ts';
import { COLLECT_PATHS } from './collect_paths.ts';
import { type SentHits, sentHits } from './sent_hits.ts';

type SiteCheck = MeasurementSite | ReturnType<typeof checkCaller>;

/**
 * GET and POST /g/collect, as gtag and what speaks like it sends to it. Whose a request is, is known by its key, by a
 * verified domain, or by its measurement id; where that stands in the body alone, nothing else of it is looked at before.
 * The answer is 204 with nothing in it, when Kafka holds what was accepted.
 *
 * @param secret Makes digests that nobody else can, for hits that have no id.
 */
export function mountCollect(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  const checks = new WeakMap<HttpRequestIn, SiteCheck>();
  const known = (request: HttpRequestIn): IngestCaller | null => {
    const check = checks.get(request);
    return check?.ok === true ? check : null;
  };

  const onRequest = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkSite(context, request, new URLSearchParams(sentQuery(request)).get('tid'));
    checks.set(request, check);
    if (check.ok) context.letIn(request);
    const address = clientAddress(request);
    const limited = check.ok ? context.acceptor.limited(address, check) : context.strangers.limited(address);
    if (limited !== null) return sendAnswer(reply, limitedAnswer(limited));
    const mayBeInBody = !check.ok && check.code === 'measurement_id_missing' && request.method === 'POST';
    return check.ok || mayBeInBody ? undefined : sendAnswer(reply, refuseStranger(context, request, check));
  };
  const collect = async (request: HttpRequestIn): Promise<Answer> => {
    const read = hitsOf(request);
    if (!read.ok) return refuseKnown(context, request, known(request), read.code);
    const early = checks.get(request);
    const [first] = read.hits;
    const check = early?.ok === true ? early : checkSite(context, request, first?.fields.get('tid') ?? null);
    if (!check.ok) return refuseStranger(context, request, check);
    if (!areOfSite(context, read.hits, check)) return refuseKnown(context, request, check, 'measurement_ids_mixed');
    context.letIn(request);
    context.onKeyUsed(check.key.key_hash);
    const events = eventsOfHits(read.hits, { caller: check.key.caller, secret });
    const peer = { clientIp: clientAddress(request), ...callerSigns(request) };
    return answerOfHits(await context.acceptor.accept(events, peer, check), events.length);
  };

  void app.register(async (scope) => {
    context.collectBodies(scope, '*', BODY_BYTES_MAX);
    scope.setErrorHandler(
      faultHandler(context.errors, context.refuse, async (code, request, reply) => {
        if (code === 'overloaded') return context.refuse(reply, code);
        return sendAnswer(reply, await refuseKnown(context, request, known(request), code));
      }),
    );
    for (const url of COLLECT_PATHS) {
      scope.route({
        method: ['GET', 'POST'],
        url,
        onRequest,
        handler: async (request, reply) => sendAnswer(reply, await collect(request)),
      });
    }
  });
}

function checkSite({ table, nowMs }: EdgeContext, request: HttpRequestIn, measurementId: string | null): SiteCheck {
  if (presentsKey(request)) return checkCaller(table, request, nowMs());
  const signs = { host: requestHost(request), measurementId, origin: pageOrigin(request) };
  return findMeasurementSite(table, signs, nowMs());
}

function hitsOf(request: HttpRequestIn): SentHits {
  const body = sentBody(request);
  return body.ok ? sentHits(request, body.value.toString('utf8')) : body;
}

/** A line may say another measurement id than the query; where it is what names the site, each has to name the same. */
function areOfSite({ table }: EdgeContext, hits: readonly Hit[], check: Extract<SiteCheck, { ok: true }>): boolean {
  if (!('byMeasurementId' in check) || !check.byMeasurementId) return true;
  return hits.every(({ fields }) => {
    const named = table.sitesByMeasurementId(fields.get('tid') ?? '');
    return named.some(({ site_id }) => site_id === check.site.site_id);
  });
}

function refuseStranger(
  { strangers, noteRefused }: EdgeContext,
  request: HttpRequestIn,
  check: { code: EdgeErrorCode; refused?: RefusedCaller },
): Answer {
  strangers.saw(clientAddress(request));
  noteRefused(check);
  return refusal(check.code);
}

async function refuseKnown(
  context: EdgeContext,
  request: HttpRequestIn,
  caller: IngestCaller | null,
  code: EdgeErrorCode,
): Promise<Answer> {
  if (caller === null) return refuseStranger(context, request, { code });
  return refuseCounted(context.acceptor, request, caller, refusal(code));
}
