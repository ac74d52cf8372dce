import { hash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BundleOptions, bundle } from '#infra/bundler/bundle.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Coding } from '#pipelines/tag/content_coding.ts';

/** A script under the name that pages load it by (SPEC 4.5). */
export interface ScriptSource extends BundleOptions {
  name: string;
}

/** The bytes of a script in one coding, with the strong entity tag of exactly these bytes, in its quotes. */
interface ScriptBody {
  bytes: Buffer;
  etag: string;
}

/** A script, made ahead in every coding. */
export interface Script {
  name: string;
  /** Digest of its content, for the path under which it never changes. */
  digest: string;
  /** For the attribute of the same name (Subresource Integrity). */
  integrity: string;
  bodies: Readonly<Record<Coding, ScriptBody>>;
}

/** The scripts that could be made, by name. */
export type Scripts = ReadonlyMap<string, Script>;

const SOURCES = join(import.meta.dirname, '../../tag/src');

const source = (name: string, entry: string, format: ScriptSource['format'] = 'iife'): ScriptSource => ({
  name,
  entry: join(SOURCES, entry),
  format,
  manglesUnderscored: true,
});

/** What browsers load: the tag in two forms, and its parts that not every page needs, which the tag loads itself. */
export const TAG_SOURCES: readonly ScriptSource[] = [
  { ...source('svc.min.js', 'classic.ts'), runsWhole: true },
  { ...source('svc.mjs', 'module.ts', 'esm'), runsWhole: true },
  source('svc-engage.min.js', 'engage.ts'),
  source('svc-vitals.min.js', 'vitals_script.ts'),
  source('svc-definitions.min.js', 'definitions_script.ts'),
  source('svc-inventory.min.js', 'inventory_script.ts'),
  source('svc-vendors.min.js', 'vendors_script.ts'),
  source('svc-offline.min.js', 'offline_script.ts'),
];

const DIGEST_CHARACTERS = 27;
const EFFORTS = { well: { brotli: constants.BROTLI_MAX_QUALITY, level: 9 }, quickly: { brotli: 5, level: 6 } };
const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);

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
export async function encodeScript(name: string, bytes: Buffer, effort: 'well' | 'quickly'): Promise<Script> {
  const digest = hash('sha256', bytes, 'base64url').slice(0, DIGEST_CHARACTERS);
  const { brotli, level } = EFFORTS[effort];
  const [br, gz] = await Promise.all([
    brotlied(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotli } }),
    gzipped(bytes, { level }),
  ]);
  return {
    name,
    digest,
    integrity: `sha384-${hash('sha384', bytes, 'base64')}`,
    bodies: {
      identity: { bytes, etag: `"${digest}"` },
      gzip: { bytes: gz, etag: `"${digest}-gzip"` },
      br: { bytes: br, etag: `"${digest}-br"` },
    },
  };
}
