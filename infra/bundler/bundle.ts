import { build, type Message, stop } from 'esbuild';

export interface BundleOptions {
  /** Path of the entry's source file. */
  entry: string;
  /** `iife` for a classic script, `esm` for a module. */
  format: 'iife' | 'esm';
  /**
   * Whether names of properties that end with `_` are replaced by short ones. Each bundle gets names of its own, so what
   * two bundles hand each other must not end so.
   */
  manglesUnderscored?: boolean;
  /**
   * Whether nearly all of its functions are called as soon as it is loaded. The browser is told to compile them then, which
   * it does beside the page, where else it would stop the page for each at its first call.
   */
  runsWhole?: boolean;
}

/** V8's explicit compile hint: has to be a file's first line. Chromium knows it since 136; to others it is a comment. */
const COMPILE_WHOLE = '//# allFunctionsCalledOnLoad';

/** The sources could not be made one script. The message names each place as `file:line: what`. */
class BundleError extends Error {
  readonly code = 'bundle_failed';
  readonly recovery = 'stop';
}

/** The oldest syntax that every browser in use reads. */
const TARGET = 'es2020';

let underWay = 0;

/**
 * One minified script in UTF-8 of an entry and all it imports. A warning counts as an error, as there is nobody to read it
 * in a visitor's browser. Throws BundleError.
 */
export async function bundle(options: BundleOptions): Promise<Uint8Array> {
  underWay += 1;
  try {
    return await bundled(options);
  } finally {
    underWay -= 1;
    // The bundler is a process of its own that would stay.
    if (underWay === 0) await stop();
  }
}

async function bundled({ entry, format, manglesUnderscored, runsWhole }: BundleOptions): Promise<Uint8Array> {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format,
    platform: 'browser',
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    ...(manglesUnderscored === true && { mangleProps: /_$/ }),
    ...(runsWhole === true && { banner: { js: COMPILE_WHOLE } }),
  }).catch((error: unknown) => {
    throw new BundleError(placesOf((error as { errors?: Message[] }).errors) ?? String(error), { cause: error });
  });
  const warned = placesOf(result.warnings);
  const [file] = result.outputFiles;
  if (warned !== undefined || file === undefined) throw new BundleError(warned ?? `${entry} gave no script`);
  return file.contents;
}

function placesOf(messages: Message[] = []): string | undefined {
  if (messages.length === 0) return undefined;
  return messages.map(({ location, text }) => `${location?.file ?? ''}:${location?.line ?? ''}: ${text}`).join('\n');
}
