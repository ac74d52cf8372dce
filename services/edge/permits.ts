import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { refuse } from './answer.ts';
import type { ConcurrencyLimiter, Permit } from './concurrency_limiter.ts';

/**
 * Gives every POST, and what else may bring events, a permit for as long as its handler runs, and refuses it where none is
 * left. Returns how to find it.
 */
export function givePermits(
  app: HttpServer,
  limiter: ConcurrencyLimiter,
  bringsEvents: (request: HttpRequestIn) => boolean,
): (request: HttpRequestIn) => Permit | undefined {
  const permits = new WeakMap<HttpRequestIn, Permit>();
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST' && !bringsEvents(request)) return undefined;
    const permit = limiter.acquire();
    if (permit === null) return refuse(reply, 'overloaded');
    permits.set(request, permit);
    return undefined;
  });
  // Not when the connection ends: what it sent is held until its handler is done, and a response that waits behind
  // another one is never told of the end.
  app.addHook('onSend', (request, _reply, payload, done) => {
    permits.get(request)?.release();
    done(null, payload);
  });
  return (request) => permits.get(request);
}
