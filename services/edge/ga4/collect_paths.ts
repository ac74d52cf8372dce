import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { sentPath } from '#services/edge/sent_request.ts';

/** Where GA4's tags send their hits; the second is where those before it did. */
export const COLLECT_PATHS = ['/g/collect', '/j/collect'] as const;
const COLLECT: ReadonlySet<string> = new Set(COLLECT_PATHS);

/** Whether a request is to one of them, whatever its method. */
export function isCollect(request: HttpRequestIn): boolean {
  return COLLECT.has(sentPath(request));
}

/** Whether a request brings a hit in its address alone. */
export function bringsHit(request: HttpRequestIn): boolean {
  return request.method === 'GET' && isCollect(request);
}
