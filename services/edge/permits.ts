import { isIPv4 } from 'node:net';
import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { networkOf } from '#pipelines/privacy/network.ts';
import { refuse } from './answer.ts';
import type { ConcurrencyLimiter, Permit } from './concurrency_limiter.ts';

/**
 * Gives every POST, and what else may bring events, a permit for as long as its handler runs, and refuses it where none is
 * left. Returns how to find it.
 *
 * @param isExempt Whether an address has no share of its own, such as that of a proxy of ours.
 */
export function givePermits(
  app: HttpServer,
  limiter: ConcurrencyLimiter,
  bringsEvents: (request: HttpRequestIn) => boolean,
  isExempt: (clientIp: string) => boolean,
): (request: HttpRequestIn) => Permit | undefined {
  const permits = new WeakMap<HttpRequestIn, Permit>();
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST' && !bringsEvents(request)) return undefined;
    const address = clientAddress(request);
    const permit = limiter.acquire(isExempt(address) ? null : neighbourhoodOf(address));
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

/** What one sender may have of addresses at once: a /24, or a /64. */
function neighbourhoodOf(clientIp: string): string {
  return isIPv4(clientIp) ? clientIp.slice(0, clientIp.lastIndexOf('.')) : networkOf(clientIp);
}
