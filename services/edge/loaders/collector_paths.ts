import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { sentPath } from '../sent_request.ts';

/** Where hits are taken on a verified domain (SPEC 4.5): GA4's, Meta's and TikTok's. */
export const COLLECTORS = ['/a/c', '/s/p', '/t/e'] as const;
export type CollectorPath = (typeof COLLECTORS)[number];

/** Each path, and what its sender puts behind the address that it was given: gtag has its own path below `transport_url`. */
export const COLLECTOR_PATHS: Readonly<Record<CollectorPath, readonly string[]>> = {
  '/a/c': ['/a/c', '/a/c/g/collect'],
  '/s/p': ['/s/p'],
  '/t/e': ['/t/e'],
};

/** Below a prefix as well. */
const COLLECTOR = /^(?:\/[a-z0-9]+)?\/(?:a\/c(?:\/g\/collect)?|s\/p|t\/e)$/;

/** Whether a request is to one of them, whatever its host. */
export function isCollector(request: HttpRequestIn): boolean {
  return COLLECTOR.test(sentPath(request));
}
