import { clientAddress, type HttpServer } from '#infra/http/http_server.ts';
import { ENGAGE_BODY_BYTES_MAX } from '#pipelines/engage/engage_request.ts';
import { limitedAnswer, sendAnswer } from '../answer.ts';
import type { EdgeContext, RequestHook } from '../edge_context.ts';
import type { EngageParts } from './engage_parts.ts';
import { FORM_CONTENT_TYPES } from './form_body.ts';
import { mountForm } from './form_route.ts';
import { mountRespond } from './respond_route.ts';
import { mountShow } from './show_route.ts';
import { mountTrack } from './track_route.ts';

const JSON_TYPES = ['application/json', 'text/plain'];

/** The routes of surveys, promos and forms. */
export function mountEngage(app: HttpServer, context: EdgeContext, parts: EngageParts): void {
  const { acceptor, callerOf, keyed } = context;
  const limitedBeforeBody: RequestHook = async (request, reply) => {
    const known = acceptor.limited(clientAddress(request), callerOf(request));
    return known === null ? undefined : sendAnswer(reply, limitedAnswer(known));
  };
  const hooks = [keyed, limitedBeforeBody];
  void app.register(async (scope) => {
    context.collectBodies(scope, JSON_TYPES, ENGAGE_BODY_BYTES_MAX);
    mountShow(scope, context, parts, hooks);
    mountRespond(scope, context, parts, hooks);
    mountTrack(scope, context, parts, hooks);
  });
  void app.register(async (scope) => {
    context.collectBodies(scope, FORM_CONTENT_TYPES, ENGAGE_BODY_BYTES_MAX);
    mountForm(scope, context, parts, hooks);
  });
}
