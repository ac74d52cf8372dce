// Vendors' scripts served from a site's own domain: routes, the cache of scripts, and their part of the OpenAPI
// document.

import { Type } from 'typebox';
import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { DocumentedRoute } from '#pipelines/openapi.ts';
import { vendorIds } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import {
  type FetchScript,
  LOADER_NAMES,
  type LoaderName,
  type VendorScript,
  vendorScript,
} from '#pipelines/tag/vendor_scripts.ts';
import { servedSite } from '../auth.ts';
import type { EdgeContext } from '../edge_context.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from '../errors.ts';
import { failures } from '../openapi_shapes.ts';
import { conditional, encodeScript, type Script, sendScript, UNCHANGED } from '../tag_files/routes.ts';

const FRESH_CACHE = 'public, max-age=300, stale-if-error=86400';
/** Asked for again soon, as a newer one is overdue. */
const STALE_CACHE = 'public, max-age=30, stale-if-error=86400';

/** Answered with 200: the page is to go on, and its script element to hear of no error that it could not help. */
const UNAVAILABLE = 'script_unavailable: the platform does not give its script now';

/** Under the names themselves, and below the site's own prefix. */
const PREFIXES = ['', '/:prefix'] as const;

type Wanted = { ok: true; script: VendorScript } | { ok: false; code: EdgeErrorCode };

/**
 * GET /sg.js, /sx.js, /sp.js and /tt.js: the platforms' own scripts, on a verified domain, for the ids of its site. They are
 * what their vendors give, unchanged. Neither a cookie nor anything else of the visitor goes to a vendor, and no header of a
 * vendor comes back. In the place of a script that is not to be had stands an empty one that says why in a comment.
 */
export function mountLoaders(app: HttpServer, { table, refuse }: EdgeContext, scripts: ScriptCache): void {
  for (const name of LOADER_NAMES) {
    for (const prefix of PREFIXES) {
      app.get(`${prefix}/${name}`, { exposeHeadRoute: true }, async (request, reply) => {
        const wanted = wantedScript(table, name, request);
        if (!wanted.ok) return loaderRefusal(reply, wanted.code, refuse);
        const found = await scripts.get(wanted.script);
        if (found === null) return sendEmpty(reply, UNAVAILABLE);
        return sendScript(
          request,
          reply.header('cache-control', found.isStale ? STALE_CACHE : FRESH_CACHE),
          found.script,
        );
      });
    }
  }
}

function wantedScript(table: SettingsTable, name: LoaderName, request: HttpRequestIn): Wanted {
  const served = servedSite(table, request);
  const { prefix } = request.params as { prefix?: string };
  if (!served.ok) return { ok: false, code: prefix === undefined ? served.code : 'not_found' };
  const { site } = served;
  if (prefix !== undefined && prefix !== site.loader_prefix) return { ok: false, code: 'not_found' };
  const script = vendorScript(name, vendorIds(table, site), request.query as Record<string, unknown>);
  return script === null ? { ok: false, code: 'script_not_configured' } : { ok: true, script };
}

/** What a page of the site asks for by a script element gets a script, whatever becomes of it. */
function loaderRefusal(reply: HttpReply, code: EdgeErrorCode, refuse: EdgeContext['refuse']): HttpReply {
  if (code === 'script_not_configured') {
    const { status, message } = EDGE_ERRORS[code];
    return sendEmpty(reply.code(status), `${code}: ${message}`);
  }
  return refuse(reply.header('cache-control', 'no-store'), code);
}

function sendEmpty(reply: HttpReply, why: string): HttpReply {
  reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  reply.header('cross-origin-resource-policy', 'cross-origin').type('text/javascript; charset=utf-8');
  return reply.send(`/* ${why} */\n`);
}

export interface ScriptCacheOptions {
  fetch: FetchScript;
  metrics: Metrics;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
  /** Told what nobody foresaw of a fetch that no request waits for. */
  onFailed(error: unknown): void;
  /** Bytes of all scripts that are kept, in all their codings; absent: 128 MiB. */
  bytesMax?: number;
}

/** A script of a vendor; one that is stale is older than it should be, as the vendor does not give a newer one. */
interface CachedScript {
  script: Script;
  isStale: boolean;
}

interface Entry {
  script: Script | null;
  gotAtMs: number;
  triedAtMs: number;
  bytes: number;
}

const FRESH_MS = 300_000;
/** How long a script is shown that the vendor gives no more: as long as browsers may (`stale-if-error`). */
const STALE_MS_MAX = 86_400_000;
/** After a failure the vendor is left alone for so long. */
const RETRY_MS = 15_000;
/** Fetches under way with which no other is begun behind an answer. */
const FETCHES_MAX = 16;
const BYTES_MAX = 128 * 1024 * 1024;
/** An entry that holds nothing costs something too. */
const ENTRY_BYTES = 1_024;
const NEVER = Number.NEGATIVE_INFINITY;

export type ScriptCache = ReturnType<typeof createScriptCache>;

/**
 * Vendors' scripts in the memory of this process, shared by all sites.
 *
 * Each script is fetched once at a time, and at the most every 5 minutes. Nobody waits for a newer one while there is one to
 * show: it is fetched behind the answer. What was asked for longest ago gives way.
 */
export function createScriptCache(options: ScriptCacheOptions) {
  const { fetch, metrics, nowMs, onFailed, bytesMax = BYTES_MAX } = options;
  const entries = new Map<string, Entry>();
  const underWay = new Map<string, Promise<Entry>>();
  let bytes = 0;
  const fetches = metrics.counter('svc_edge_loader_fetches_total', "Fetches of vendors' scripts", ['vendor', 'result']);

  function put(key: string, entry: Entry): void {
    bytes += entry.bytes - (entries.get(key)?.bytes ?? 0);
    entries.delete(key);
    entries.set(key, entry);
    for (const [oldest, { bytes: freed }] of entries) {
      if (bytes <= bytesMax || oldest === key) break;
      entries.delete(oldest);
      bytes -= freed;
    }
  }

  async function refresh(key: string, wanted: VendorScript, before: Entry | undefined): Promise<Entry> {
    const got = await fetch(wanted);
    const now = nowMs();
    fetches.inc({ vendor: wanted.vendor, result: got.ok ? 'got' : got.reason });
    const entry = got.ok
      ? entryOf(await encodeScript(key, got.bytes, 'quickly'), now)
      : { script: null, gotAtMs: NEVER, bytes: ENTRY_BYTES, ...before, triedAtMs: now };
    put(key, entry);
    return entry;
  }

  function refreshOnce(key: string, wanted: VendorScript, before: Entry | undefined): Promise<Entry> {
    const running = underWay.get(key);
    if (running !== undefined) return running;
    const started = refresh(key, wanted, before).finally(() => underWay.delete(key));
    underWay.set(key, started);
    return started;
  }

  function refreshBehind(key: string, wanted: VendorScript, before: Entry): void {
    if (underWay.has(key) || underWay.size >= FETCHES_MAX) return;
    refreshOnce(key, wanted, before).catch((error: unknown) => {
      put(key, { ...before, triedAtMs: nowMs() });
      onFailed(error);
    });
  }

  return {
    /** Null where the vendor has not given it, lately. */
    async get(wanted: VendorScript): Promise<CachedScript | null> {
      const key = `${wanted.vendor} ${wanted.path}`;
      const known = entries.get(key);
      if (known !== undefined) put(key, known);
      const now = nowMs();
      const isDue = known === undefined || (!isFresh(known, now) && now - known.triedAtMs >= RETRY_MS);
      const shown = known === undefined ? null : shownOf(known, now);
      if (!isDue) return shown;
      if (known === undefined || shown === null) return shownOf(await refreshOnce(key, wanted, known), nowMs());
      refreshBehind(key, wanted, known);
      return shown;
    },
  };
}

function shownOf({ script, gotAtMs }: Entry, now: number): CachedScript | null {
  const ageMs = now - gotAtMs;
  return script === null || ageMs >= STALE_MS_MAX ? null : { script, isStale: ageMs >= FRESH_MS };
}

function isFresh({ script, gotAtMs }: Entry, now: number): boolean {
  return script !== null && now - gotAtMs < FRESH_MS;
}

function entryOf(script: Script, now: number): Entry {
  const bytes = Object.values(script.bodies).reduce((sum, body) => sum + body.bytes.length, ENTRY_BYTES);
  return { script, gotAtMs: now, triedAtMs: now, bytes };
}

const LOADER_DESCRIPTIONS: Readonly<Record<LoaderName, string>> = {
  'sg.js': "gtag, for the site's measurement id",
  'sx.js': "Tag Manager's container of the site",
  'sp.js': "Meta's pixel",
  'tt.js': "TikTok's pixel, for the site's pixel code",
};

/** The routes that serve platforms' scripts; each is below the site's loader prefix too. */
export function loaderDocs(): DocumentedRoute[] {
  return LOADER_NAMES.map((name) => ({
    method: 'GET',
    path: `/${name}`,
    operationId: `loader_${name.replace('.', '_')}`,
    tag: 'First-party domains',
    summary: `On a verified domain: ${LOADER_DESCRIPTIONS[name]}; below the site's loader prefix too`,
    headers: conditional,
    responses: [
      {
        status: 200,
        description: "The platform's script; an empty one with the reason in a comment where it cannot be had",
        contentType: 'text/javascript',
        schema: Type.String(),
        headers: {
          ETag: 'Of these very bytes: it differs by Content-Encoding',
          'Cache-Control': 'public for 5 minutes; 30 seconds where it is stale; no-store where it is empty',
        },
      },
      UNCHANGED,
      ...failures(['request_malformed', 'domain_unverified', 'script_not_configured', 'internal']),
    ],
  }));
}
