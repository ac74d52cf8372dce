// Builds the scripts of the tag.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { type BundleOptions, bundle } from '#infra/bundler/bundle.ts';
import { type CodedFile, codeFile } from '#infra/http/static_files.ts';
import type { Logger } from '#infra/log/logger.ts';

export interface ScriptSource extends BundleOptions {
  name: string;
}

/** A script, made ahead in every coding. */
export interface Script extends CodedFile {
  name: string;
  /** For the attribute of the same name (Subresource Integrity). */
  integrity: string;
}

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
  source('svc-vitals.min.js', 'scripts/vitals_script.ts'),
  source('svc-definitions.min.js', 'scripts/definitions_script.ts'),
  source('svc-inventory.min.js', 'scripts/inventory_script.ts'),
  source('svc-vendors.min.js', 'scripts/vendors_script.ts'),
  source('svc-offline.min.js', 'scripts/offline_script.ts'),
  source('svc-tcf.min.js', 'scripts/tcf_script.ts'),
];

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
