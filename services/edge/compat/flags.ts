import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { Limited } from '#pipelines/limits/admission.ts';
import { checkKey } from '#pipelines/settings/keys.ts';
import { type Answer, limitedHeaders, retryAfterOf, sendAnswer } from '#services/edge/answer.ts';
import { pageOrigin } from '#services/edge/caller.ts';
import type { EdgeContext } from '#services/edge/edge_context.ts';
import type { EdgeErrorCode } from '#services/edge/errors.ts';
import { faultHandler } from '#services/edge/faults.ts';
import { sentBytes } from '#services/edge/sent_request.ts';
import { readForeignText } from './body.ts';
import { POSTHOG_KEY_PLACES, posthogRefusal } from './posthog.ts';

export const FLAGS_PATHS = ['/flags', '/flags/', '/decide', '/decide/'];
const BODY_BYTES_MAX = 256 * 1024;

/** There are no feature flags here: PostHog's libraries ask for them at start and go on when told so. */
const NO_FLAGS = {
  flags: {},
  featureFlags: {},
  featureFlagPayloads: {},
  errorsWhileComputingFlags: false,
  sessionRecording: false,
  supportedCompression: ['gzip', 'gzip-js', 'base64'],
};

function limitedIn(limited: Limited): Answer {
  return { ...posthogRefusal('rate_limited', []), ...limitedHeaders(limited) };
}

/** The routes where PostHog's libraries ask for feature flags. */
export function mountFlags(app: HttpServer, context: EdgeContext): void {
  void app.register(async (scope) => {
    context.collectBodies(scope, '*', BODY_BYTES_MAX);
    const refuse = (reply: HttpReply, code: EdgeErrorCode): HttpReply => {
      const answer = posthogRefusal(code, []);
      return sendAnswer(reply, { ...answer, ...retryAfterOf(answer.status) });
    };
    scope.setErrorHandler(faultHandler(context.errors, refuse, async (code, _request, reply) => refuse(reply, code)));
    const handle = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> => {
      const address = clientAddress(request);
      const limited = context.strangers.limited(address);
      if (limited !== null) return sendAnswer(reply, limitedIn(limited));
      const bytes = sentBytes(request);
      const encoding = request.headers['content-encoding'];
      const text = await readForeignText(bytes, encoding, POSTHOG_KEY_PLACES, BODY_BYTES_MAX);
      const key = text.ok ? text.value.outline.key : null;
      const check = checkKey(context.table, key, pageOrigin(request), context.nowMs());
      if (check.ok) {
        const over =
          context.acceptor.limited(address, check) ?? (await context.acceptor.countRefused(address, check, null));
        return over === null ? reply.send(NO_FLAGS) : sendAnswer(reply, limitedIn(over));
      }
      context.strangers.saw(address);
      return refuse(reply, text.ok ? check.code : text.code);
    };
    for (const path of FLAGS_PATHS) scope.post(path, handle);
  });
}
