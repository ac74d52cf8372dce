import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { FOR_EVER, sendFile } from '#services/coded_file.ts';
import type { EdgeContext } from '../edge_context.ts';
import type { Script, ScriptSource, Scripts } from './scripts.ts';

/** SPEC section 8: the tag is cached for 5 minutes. What is older is shown while a new one is fetched. */
const FRESH = 'public, max-age=300, stale-while-revalidate=86400';

/** What is served of the tag. */
export interface TagScripts {
  sources: readonly ScriptSource[];
  scripts: Scripts;
}

/**
 * The scripts of the tag, at the root and under /v1/, and each under a path of its content's digest, where it never changes.
 * No key, and no rate limit: an answer is a look into memory.
 */
export function mountScripts(app: HttpServer, { refuse }: EdgeContext, { sources, scripts }: TagScripts): void {
  for (const { name } of sources) {
    for (const path of [`/${name}`, `/v1/${name}`]) {
      app.get(path, { exposeHeadRoute: true }, (request, reply) => {
        const script = scripts.get(name);
        if (script === undefined) return refuse(reply.header('cache-control', 'no-store'), 'script_not_built');
        return sendScript(request, reply.header('cache-control', FRESH), script);
      });
    }
  }
  app.get('/v1/svc/:digest/:name', { exposeHeadRoute: true }, (request, reply) => {
    const { digest, name } = request.params as { digest: string; name: string };
    const script = scripts.get(name);
    if (script?.digest !== digest) return refuse(reply.header('cache-control', 'no-store'), 'not_found');
    return sendScript(request, reply.header('cache-control', FOR_EVER), script);
  });
}

/** Where a script is that never changes. */
export function pathOf({ digest, name }: Script): string {
  return `/v1/svc/${digest}/${name}`;
}

/** Sends a script in the coding that the client likes best, or that it has it already. */
export function sendScript(request: HttpRequestIn, reply: HttpReply, script: Script): HttpReply {
  // Any page may load it, also one that shuts out what does not say so (Cross-Origin-Embedder-Policy).
  reply.header('cross-origin-resource-policy', 'cross-origin');
  return sendFile(request, reply, script, 'text/javascript; charset=utf-8');
}
