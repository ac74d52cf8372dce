import { clientAddress, type HttpServer } from '#infra/http/http_server.ts';
import { ENGAGE_BODY_BYTES_MAX } from '#pipelines/engage/engage_request.ts';
import { limitedAnswer, refusal, sendAnswer } from '../answer.ts';
import type { EdgeContext, RequestHook } from '../edge_context.ts';
import { faultHandler } from '../faults.ts';
import type { EngageParts } from './engage_parts.ts';
import { createEngageRate } from './engage_rate.ts';
import { FORM_CONTENT_TYPES, wantsPage } from './form_body.ts';
import { mountForm } from './form_route.ts';
import { sendPlainRefusal } from './plain_answers.ts';
import { mountRespond } from './respond_route.ts';
import { mountShow } from './show_route.ts';
import { mountTrack } from './track_route.ts';

const JSON_TYPES = ['application/json', 'text/plain'];

/** The routes of surveys, promos and forms. Each request counts against the rate, also where nothing of it is taken. */
export function mountEngage(app: HttpServer, context: EdgeContext, parts: EngageParts): void {
  const { acceptor, callerOf, keyed } = context;
  const limitedBeforeBody: RequestHook = async (request, reply) => {
    const known = acceptor.limited(clientAddress(request), callerOf(request));
    if (known === null) return undefined;
    const answer = limitedAnswer(known);
    return wantsPage(request) ? sendPlainRefusal(request, reply, answer) : sendAnswer(reply, answer);
  };
  const hooks = [keyed, limitedBeforeBody];
  const rate = createEngageRate(context);
  const onFault = faultHandler(context.errors, context.refuse, async (code, request, reply) => {
    const isKnown = code !== 'overloaded' && context.knownCaller(request) !== undefined;
    const answer = isKnown ? await rate.settle(request, refusal(code)) : refusal(code);
    return wantsPage(request) ? sendPlainRefusal(request, reply, answer) : sendAnswer(reply, answer);
  });
  void app.register(async (scope) => {
    scope.setErrorHandler(onFault);
    context.collectBodies(scope, JSON_TYPES, ENGAGE_BODY_BYTES_MAX);
    mountShow(scope, context, { parts, rate, hooks });
    mountRespond(scope, context, { parts, rate, hooks });
    mountTrack(scope, context, { parts, rate, hooks });
  });
  void app.register(async (scope) => {
    scope.setErrorHandler(onFault);
    context.collectBodies(scope, FORM_CONTENT_TYPES, ENGAGE_BODY_BYTES_MAX);
    mountForm(scope, context, { parts, rate, hooks });
  });
}
