import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';

export const EXPOSED_HEADERS = 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, ETag';
export const PREFLIGHT_S = 86_400;

/**
 * CORS is open (SPEC section 5): who may call is decided by the key's allow-list, not by the browser. No credentials are
 * asked for, so the star holds for headers and origins alike; Authorization must be named beside it.
 */
export function cors(request: HttpRequestIn, reply: HttpReply): void {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-expose-headers', EXPOSED_HEADERS);
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, HEAD, POST, OPTIONS');
  reply.header('access-control-allow-headers', 'Content-Type, Content-Encoding, X-Svc-Key, Authorization, *');
  reply.header('access-control-max-age', String(PREFLIGHT_S));
}
