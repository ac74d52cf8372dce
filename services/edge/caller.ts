import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { checkKey, type KeyCheck } from '#pipelines/settings/keys.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';

/** What a request says its key is: `many` where its query says more than one. */
type PresentedKey = { kind: 'one'; key: string } | { kind: 'none' } | { kind: 'many' };

/** The key of a request, from the header or, where headers cannot be set, from the query. */
function presentedKey(request: HttpRequestIn): PresentedKey {
  const header = single(request.headers['x-svc-key']);
  // An empty one, as of a template that nobody filled in, says as little as none.
  if (header !== null && header.trim() !== '') return { kind: 'one', key: header };
  const query = request.query as Record<string, unknown> | undefined;
  const key = query?.['key'];
  if (typeof key === 'string' && key.trim() !== '') return { kind: 'one', key };
  return Array.isArray(key) ? { kind: 'many' } : { kind: 'none' };
}

/** Whether a request has a key, be it one that is known or not. */
export function presentsKey(request: HttpRequestIn): boolean {
  return presentedKey(request).kind !== 'none';
}

export const KEY_REPEATED = { ok: false, status: 400, code: 'key_repeated' } as const;

function single(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : (value[0] ?? null);
}

/** Whether the caller of a request may act for a site, and which. */
export function checkCaller(table: SettingsTable, request: HttpRequestIn, nowMs: number): KeyCheck {
  const presented = presentedKey(request);
  if (presented.kind === 'many') return KEY_REPEATED;
  return checkKey(table, presented.kind === 'one' ? presented.key : null, pageOrigin(request), nowMs);
}

/**
 * The origin of the page that had a browser send a request; null where no browser says that a page did. For an image or
 * a script browsers send no Origin, but Sec-Fetch-Site, which a page can neither set nor leave out: then Referer tells,
 * and a page that keeps it back is one of no origin, as browsers say of such in Origin.
 */
export function pageOrigin({ headers }: HttpRequestIn): string | null {
  const { origin, referer } = headers;
  if (origin !== undefined) return origin;
  const isOfOtherOrigin = OTHER_ORIGINS.has(single(headers['sec-fetch-site']) ?? '');
  return isOfOtherOrigin ? (URL.parse(referer ?? '')?.origin ?? NO_ORIGIN) : null;
}

/** Values of Sec-Fetch-Site for a page that is not of the host which it calls. */
const OTHER_ORIGINS: ReadonlySet<string> = new Set(['cross-site', 'same-site']);
const NO_ORIGIN = 'null';

export interface CallerSigns {
  userAgent: string | null;
  browserSigns: boolean;
  prefetch: boolean;
  /** Global Privacy Control. */
  gpc: boolean;
}

/**
 * What the headers say of who calls: a browser by Origin, Referer or Sec-Fetch-Site; a prefetch by its purpose headers; a
 * visitor who does not want to be sold or shared by Sec-GPC.
 * Sec-Fetch-Mode says nothing: Node's fetch, which libraries for servers use, sends it too, while no browser leaves out
 * Sec-Fetch-Site.
 */
export function callerSigns(request: HttpRequestIn): CallerSigns {
  const { headers } = request;
  return {
    userAgent: headers['user-agent'] ?? null,
    browserSigns:
      headers.origin !== undefined || headers.referer !== undefined || headers['sec-fetch-site'] !== undefined,
    prefetch: PREFETCH_HEADERS.some((name) => /\b(prefetch|prerender|preview)\b/i.test(single(headers[name]) ?? '')),
    gpc: single(headers['sec-gpc']) === '1',
  };
}

const PREFETCH_HEADERS = ['sec-purpose', 'purpose', 'x-moz', 'x-purpose'];
