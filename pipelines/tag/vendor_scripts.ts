import { metaPixels, type VendorIds } from '#pipelines/settings/site_config.ts';

/** Whose scripts they are: each vendor has one address. */
export type LoaderVendor = 'google' | 'meta' | 'tiktok';

/** The scripts as a page loads them: gtag, a container of Tag Manager, Meta's pixel and TikTok's. */
export const LOADER_NAMES = ['sg.js', 'sx.js', 'sp.js', 'tt.js'] as const;
export type LoaderName = (typeof LOADER_NAMES)[number];

/** Where a script is. */
export interface VendorScript {
  vendor: LoaderVendor;
  /** Path and query at the vendor, made of the site's own id alone. Equal paths are equal scripts, whatever the site. */
  path: string;
}

interface Loader {
  vendor: LoaderVendor;
  /** The ids of the site that its script may be asked for; none: it has not configured the platform for browsers. */
  ids(vendors: VendorIds): string[];
  /** What an id of the platform looks like: no other gets into the vendor's address. */
  pattern: RegExp;
  path(id: string): string;
  /** What a page's own snippet calls the id in the query. */
  parameter: string;
}

const LOADERS: Readonly<Record<LoaderName, Loader>> = {
  'sg.js': {
    vendor: 'google',
    ids: ({ ga4 }) => (ga4 === null ? [] : [ga4.measurement_id]),
    pattern: /^G-[A-Z0-9]{4,12}$/,
    path: (id) => `/gtag/js?id=${id}`,
    parameter: 'id',
  },
  'sx.js': {
    vendor: 'google',
    ids: ({ gtm }) => (gtm === null ? [] : [gtm.container_id]),
    pattern: /^GTM-[A-Z0-9]{4,10}$/,
    path: (id) => `/gtm.js?id=${id}`,
    parameter: 'id',
  },
  'sp.js': {
    vendor: 'meta',
    ids: metaPixels,
    pattern: /^\d{5,20}$/,
    // One script for all pixels: which one is meant is said on the page.
    path: () => '/en_US/fbevents.js',
    parameter: 'id',
  },
  'tt.js': {
    vendor: 'tiktok',
    ids: ({ tiktok }) => (tiktok === null ? [] : [tiktok.pixel_code]),
    pattern: /^[A-Z0-9]{10,30}$/,
    path: (id) => `/i18n/pixel/events.js?sdkid=${id}&lib=ttq`,
    parameter: 'sdkid',
  },
};

/**
 * The script that a site may load under a name: the one of its own id. Null where it has none, where its id is none of the
 * platform's, and where the query asks for another id than its own; nothing else of the query is looked at.
 */
export function vendorScript(
  name: LoaderName,
  vendors: VendorIds,
  query: Readonly<Record<string, unknown>>,
): VendorScript | null {
  const { vendor, ids, pattern, path, parameter } = LOADERS[name];
  const own = ids(vendors);
  const [first] = own;
  const asked = query[parameter];
  if (first === undefined || !pattern.test(first)) return null;
  if (asked !== undefined && !own.some((id) => id === asked)) return null;
  return { vendor, path: path(first) };
}

/** A script as it was got from its vendor, decoded; or why it was not. */
export type FetchedScript = { ok: true; bytes: Buffer } | { ok: false; reason: ScriptFailure };

/** Each is a label of a counter. */
export type ScriptFailure =
  | 'status'
  | 'redirect'
  | 'content_type'
  | 'content_encoding'
  | 'too_large'
  | 'timeout'
  | 'unreachable';

/** Fetches a script from its vendor. Never rejects. */
export type FetchScript = (script: VendorScript) => Promise<FetchedScript>;

const JAVASCRIPT = /^(?:text|application)\/(?:x-)?(?:java|ecma)script\s*(?:;|$)/i;

export function isScriptType(contentType: string | undefined): boolean {
  return contentType !== undefined && JAVASCRIPT.test(contentType.trim());
}
