import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { LOADER_NAMES, type LoaderName, type VendorScript, vendorScript } from '#pipelines/loaders/vendor_scripts.ts';
import { vendorIds } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { EdgeContext } from '../edge_context.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from '../errors.ts';
import { servedSite } from '../served_site.ts';
import { sendScript } from '../tag/script_routes.ts';
import type { ScriptCache } from './script_cache.ts';

const FRESH = 'public, max-age=300, stale-if-error=86400';
/** Asked for again soon, as a newer one is overdue. */
const STALE = 'public, max-age=30, stale-if-error=86400';

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
        if (!wanted.ok) return refusal(reply, wanted.code, refuse);
        const found = await scripts.get(wanted.script);
        if (found === null) return sendEmpty(reply, UNAVAILABLE);
        return sendScript(request, reply.header('cache-control', found.isStale ? STALE : FRESH), found.script);
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
function refusal(reply: HttpReply, code: EdgeErrorCode, refuse: EdgeContext['refuse']): HttpReply {
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
