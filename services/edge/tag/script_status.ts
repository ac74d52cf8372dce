import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { HttpServer } from '#infra/http/http_server.ts';
import { pathOf, type TagScripts } from './script_routes.ts';
import type { Script } from './scripts.ts';

const bytes = (description: string) => Type.Integer({ description, minimum: 0 });
const etag = Type.String({ description: 'Of the plain body; those of compressed ones differ' });
const sizes = { size: bytes('Bytes'), gzip: bytes('Bytes in gzip'), brotli: bytes('Bytes in Brotli'), etag };
const orNull = <Shape extends ReturnType<typeof bytes> | typeof etag>(shape: Shape) => Type.Union([shape, Type.Null()]);
const scriptShape = Type.Object({
  ...sizes,
  integrity: Type.String({ description: 'For the attribute integrity, with the path below only' }),
  path: Type.String({ description: 'Where these very bytes stay the same for ever' }),
});

/** The answer of GET /v1/script-status. */
export const scriptStatusShape = Type.Object({
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
  const main = first === undefined ? null : factsOf(first);
  return {
    built: built.length === sources.length,
    size: main?.size ?? null,
    gzip: main?.gzip ?? null,
    brotli: main?.brotli ?? null,
    etag: main?.etag ?? null,
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
