// CORS of the public routes; with credentials for the tags that send them.
import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';

const EXPOSED_HEADERS = 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, ETag';
const PREFLIGHT_S = 86_400;

/**
 * CORS is open: who may call is decided by the key's allow-list, not by the browser. No credentials are
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

const HEADER_NAMES = /^[A-Za-z0-9-]+(?:\s*,\s*[A-Za-z0-9-]+)*$/;
const HEADER_NAMES_CHARACTERS_MAX = 1_000;

/**
 * CORS for GA4's tags, which send with credentials where `server_container_url` is set: a browser then takes no star, so the
 * origin is echoed. Whether it may send is decided by the site's keys, as everywhere.
 */
export function credentialedCors({ method, headers }: HttpRequestIn, reply: HttpReply): void {
  reply.header('vary', 'Origin');
  if (headers.origin === undefined) return;
  reply.header('access-control-allow-origin', headers.origin);
  reply.header('access-control-allow-credentials', 'true');
  reply.header('access-control-expose-headers', EXPOSED_HEADERS);
  if (method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, POST, OPTIONS');
  reply.header('access-control-max-age', String(PREFLIGHT_S));
  const asked = headers['access-control-request-headers'];
  if (asked === undefined || asked.length > HEADER_NAMES_CHARACTERS_MAX || !HEADER_NAMES.test(asked)) return;
  reply.header('vary', 'Origin, Access-Control-Request-Headers');
  reply.header('access-control-allow-headers', asked);
}
