import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import { refuse } from './answer.ts';
import { faultHandler } from './faults.ts';
import { sentPath } from './sent_request.ts';

/** The methods of the routes there are. */
interface Methods {
  /** Of a path, sorted, OPTIONS among them; undefined for an unknown path. */
  of(path: string): string[] | undefined;
}

/**
 * Answers what no route takes: OPTIONS on any path, an unknown path, and a known path with a method it does not have. It
 * knows the routes that are added after it.
 */
export function answerUnrouted(app: HttpServer, errors: RequestErrors): void {
  const methods = watchMethods(app);
  const unrouted = (request: HttpRequestIn, reply: HttpReply): HttpReply => {
    const allowed = methods.of(sentPath(request));
    if (allowed === undefined) return refuse(reply, 'not_found');
    return refuse(reply.header('allow', allowed.join(', ')), 'method_not_allowed');
  };
  app.options('*', (request, reply) => {
    const allowed = methods.of(sentPath(request));
    if (allowed !== undefined) reply.header('allow', allowed.join(', '));
    return reply.code(204).send();
  });
  app.setNotFoundHandler(unrouted);
  app.setErrorHandler(
    faultHandler(errors, refuse, async (code, request, reply) =>
      code === 'method_not_allowed' ? unrouted(request, reply) : refuse(reply, code),
    ),
  );
}

/** Notes the methods of every route added from here on, so that a wrong one is told from an unknown path. */
function watchMethods(app: HttpServer): Methods {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set(['OPTIONS']);
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return {
    of(path) {
      const methods = known.get(path);
      return methods === undefined ? undefined : [...methods].sort();
    },
  };
}
