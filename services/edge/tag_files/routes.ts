// Builds the scripts of the tag; routes that serve them, their status and the visitor's cookie, with their part of the OpenAPI document.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { type BundleOptions, bundle } from '#infra/bundler/bundle.ts';
import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { type CodedFile, codeFile, FOR_EVER, sendFile } from '#infra/http/static_files.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi.ts';
import { renewedCookie, visitorOf } from '#pipelines/tag/http.ts';
import { servedSite } from '../auth.ts';
import type { EdgeContext } from '../edge_context.ts';
import { failures } from '../openapi_shapes.ts';

/** The tag is cached for 5 minutes. What is older is shown while a new one is fetched. */
const SCRIPT_CACHE = 'public, max-age=300, stale-while-revalidate=86400';

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
        return sendScript(request, reply.header('cache-control', SCRIPT_CACHE), script);
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

function pathOf({ digest, name }: Script): string {
  return `/v1/svc/${digest}/${name}`;
}

/** Sends a script in the coding that the client likes best, or that it has it already. */
export function sendScript(request: HttpRequestIn, reply: HttpReply, script: Script): HttpReply {
  // Any page may load it, also one that shuts out what does not say so (Cross-Origin-Embedder-Policy).
  reply.header('cross-origin-resource-policy', 'cross-origin');
  return sendFile(request, reply, script, 'text/javascript; charset=utf-8');
}

const bytes = (description: string) => Type.Integer({ description, minimum: 0 });
const etag = Type.String({ description: 'Of the plain body; those of compressed ones differ' });
const sizes = { size: bytes('Bytes'), gzip: bytes('Bytes in gzip'), brotli: bytes('Bytes in Brotli'), etag };
const orNull = <Shape extends ReturnType<typeof bytes> | typeof etag>(shape: Shape) => Type.Union([shape, Type.Null()]);
const scriptShape = Type.Object({
  ...sizes,
  integrity: Type.String({ description: 'For the attribute integrity, with the path below only' }),
  path: Type.String({ description: 'Where these very bytes stay the same for ever' }),
});

const scriptStatusShape = Type.Object({
  built: Type.Boolean({ description: 'Whether every script could be made' }),
  size: orNull(sizes.size),
  gzip: orNull(sizes.gzip),
  brotli: orNull(sizes.brotli),
  etag: orNull(etag),
  version: Type.Union([Type.String(), Type.Null()], { description: 'Digest of all scripts; equal on equal edges' }),
  scripts: Type.Record(Type.String(), scriptShape, { description: 'By name, those that could be made' }),
});
type ScriptStatus = Static<typeof scriptStatusShape>;
type ScriptFacts = Static<typeof scriptShape>;

const VERSION_CHARACTERS = 16;

/** GET /v1/script-status: what this edge serves of the tag. The sizes at the top are those of the first script. */
export function mountScriptStatus(app: HttpServer, tag: TagScripts): void {
  const status = statusOf(tag);
  app.get('/v1/script-status', { exposeHeadRoute: true }, (_request, reply) =>
    reply.header('cache-control', 'no-store').send(status),
  );
}

function statusOf({ sources, scripts }: TagScripts): ScriptStatus {
  const built = [...scripts.values()];
  const first = scripts.get(sources[0]?.name ?? '');
  const { size = null, gzip = null, brotli = null, etag = null } = first === undefined ? {} : factsOf(first);
  return {
    built: built.length === sources.length,
    ...{ size, gzip, brotli, etag },
    version: built.length === 0 ? null : versionOf(built),
    scripts: Object.fromEntries(built.map((script) => [script.name, factsOf(script)])),
  };
}

function factsOf(script: Script): ScriptFacts {
  const { identity, gzip, br } = script.bodies;
  return {
    size: identity.bytes.length,
    gzip: gzip.bytes.length,
    brotli: br.bytes.length,
    etag: identity.etag,
    integrity: script.integrity,
    path: pathOf(script),
  };
}

function versionOf(scripts: readonly Script[]): string {
  const digests = scripts.map(({ digest }) => digest).join(' ');
  return hash('sha256', digests, 'base64url').slice(0, VERSION_CHARACTERS);
}

/**
 * GET /v1/visitor: on a verified domain of an online site the visitor's cookie is set again, as long as browsers let it. The
 * tag asks for it while the visitor allows that; with what a browser fetches by itself, as a script, a cookie would come back
 * that a refusal had removed. No key, and no rate limit: an answer is a look into memory.
 */
export function mountVisitor(app: HttpServer, { table, refuse }: EdgeContext): void {
  app.get('/v1/visitor', (request, reply) => {
    reply.header('cache-control', 'no-store').header('cross-origin-resource-policy', 'same-site');
    const served = servedSite(table, request);
    if (!served.ok) return refuse(reply, served.code);
    const visitor = served.site.mode === 'online' ? visitorOf(request.headers.cookie) : null;
    const cookie = visitor === null ? null : renewedCookie(visitor, served.host);
    if (cookie !== null) reply.header('set-cookie', cookie);
    return reply.code(204).send();
  });
}

const OPEN = { method: 'GET', tag: 'Tag' };
/** Headers by which a script is not sent again. */
export const conditional = Type.Object({
  'If-None-Match': Type.Optional(Type.String({ description: 'The ETag that is known' })),
  'Accept-Encoding': Type.Optional(Type.String({ description: 'br and gzip are made ahead' })),
});
const SCRIPT: DocumentedResponse = {
  status: 200,
  description: 'The script',
  contentType: 'text/javascript',
  schema: Type.String(),
  headers: { ETag: 'Of these very bytes: it differs by Content-Encoding', 'Cache-Control': 'public for 5 minutes' },
};
export const UNCHANGED: DocumentedResponse = { status: 304, description: 'It is as it was', schema: null };

/** The routes that serve the tag. */
export function scriptDocs(): DocumentedRoute[] {
  const paths = TAG_SOURCES.flatMap(({ name }) => [`/${name}`, `/v1/${name}`]);
  return [
    ...paths.map((path) => ({
      ...OPEN,
      path,
      operationId: `script${path.replaceAll(/\W+/g, '_')}`,
      summary: 'Load the tag',
      headers: conditional,
      responses: [SCRIPT, UNCHANGED, ...failures(['request_malformed', 'script_not_built'])],
    })),
    {
      ...OPEN,
      path: '/v1/svc/{digest}/{name}',
      operationId: 'script_content',
      summary: 'Load a script of the tag under a path whose content never changes, as Subresource Integrity needs',
      params: Type.Object({
        digest: Type.String({ description: 'As script-status has it in path' }),
        name: Type.Enum(TAG_SOURCES.map(({ name }) => name)),
      }),
      headers: conditional,
      responses: [
        { ...SCRIPT, headers: { ETag: 'Of these very bytes', 'Cache-Control': 'for ever' } },
        UNCHANGED,
        ...failures(['request_malformed', 'not_found']),
      ],
    },
    {
      ...OPEN,
      path: '/v1/visitor',
      operationId: 'renewVisitor',
      summary: "Set the visitor's cookie again, on a verified domain, as the tag asks while the visitor allows it",
      responses: [
        {
          status: 204,
          description: 'Nothing is said of whether there was one',
          schema: null,
          headers: { 'Set-Cookie': "On an online site: the visitor's svc_did for another 13 months" },
        },
        ...failures(['request_malformed', 'domain_unverified']),
      ],
    },
    {
      ...OPEN,
      path: '/v1/script-status',
      operationId: 'scriptStatus',
      summary: 'Whether the scripts are built, their sizes and their ETags',
      responses: [
        { status: 200, description: 'What this edge serves', schema: scriptStatusShape },
        ...failures(['request_malformed']),
      ],
    },
  ];
}

export interface ScriptSource extends BundleOptions {
  name: string;
}

/** A script, made ahead in every coding. */
export interface Script extends CodedFile {
  name: string;
  /** For the attribute of the same name (Subresource Integrity). */
  integrity: string;
}

type Scripts = ReadonlyMap<string, Script>;

const SOURCES = join(import.meta.dirname, '../../tag/src');

const source = (name: string, entry: string, format: ScriptSource['format'] = 'iife'): ScriptSource => ({
  name,
  entry: join(SOURCES, entry),
  format,
  manglesUnderscored: true,
});

/**
 * What browsers load: the tag in two forms, and its parts that not every page needs, which the tag loads itself.
 *
 * @param dashboard the origin that is told which element somebody chose on a page; null: none.
 */
export const tagSources = (dashboard: string | null): readonly ScriptSource[] => [
  { ...source('svc.min.js', 'classic.ts'), runsWhole: true },
  { ...source('svc.mjs', 'module.ts', 'esm'), runsWhole: true },
  source('svc-engage.min.js', 'engage.ts'),
  source('svc-vitals.min.js', 'scripts/vitals_script.ts'),
  source('svc-routes.min.js', 'scripts/routes_script.ts'),
  source('svc-definitions.min.js', 'scripts/definitions_script.ts'),
  source('svc-inventory.min.js', 'scripts/inventory_script.ts'),
  source('svc-vendors.min.js', 'scripts/vendors_script.ts'),
  source('svc-offline.min.js', 'scripts/offline_script.ts'),
  source('svc-tcf.min.js', 'scripts/tcf_script.ts'),
  {
    ...source('svc-pick.min.js', 'scripts/pick_script.ts'),
    define: { DASHBOARD_ORIGIN: JSON.stringify(dashboard) },
  },
];
export const TAG_SOURCES = tagSources(null);

/** Bundles the scripts and compresses each once. One that cannot be made is logged and left out. */
export async function buildScripts(sources: readonly ScriptSource[], logger: Logger): Promise<Scripts> {
  const built = await Promise.all(sources.map((source) => buildOne(source, logger)));
  return new Map(built.flatMap((script) => (script === null ? [] : [[script.name, script]])));
}

async function buildOne({ name, ...options }: ScriptSource, logger: Logger): Promise<Script | null> {
  try {
    return await encodeScript(name, Buffer.from(await bundle(options)), 'well');
  } catch (error) {
    logger.error({ err: error, script: name }, 'a script of the tag could not be built; it is answered with 503');
    return null;
  }
}

/** A script of bytes in every coding; `quickly` for what is made while somebody waits, a little larger. */
export async function encodeScript(name: string, bytes: Buffer, budget: 'well' | 'quickly'): Promise<Script> {
  return { name, integrity: `sha384-${hash('sha384', bytes, 'base64')}`, ...(await codeFile(bytes, budget)) };
}
