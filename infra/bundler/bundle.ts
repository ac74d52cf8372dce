import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import {
  type BuildOptions,
  type BuildResult,
  build,
  type Message,
  type Metafile,
  type OutputFile,
  type Plugin,
  stop,
} from 'esbuild';

export interface BundleOptions {
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
  /** Expressions that stand in the place of global names. */
  define?: Readonly<Record<string, string>>;
}

/** V8's explicit compile hint: has to be a file's first line. Chromium knows it since 136; to others it is a comment. */
const COMPILE_WHOLE = '//# allFunctionsCalledOnLoad';

/** The sources could not be made one script. The message names each place as `file:line: what`. */
class BundleError extends Error {
  readonly code = 'bundle_failed';
  readonly recovery = 'stop';
}

/** The oldest syntax that every browser in use reads. */
const TARGET = 'es2021';
/** What browsers have read since 2022: an application may ask for more than a page of strangers. */
const APP_TARGET = 'es2022';

let underWay = 0;

/**
 * One minified script in UTF-8 of an entry and all it imports. A warning counts as an error, as there is nobody to read it
 * in a visitor's browser. Throws BundleError.
 */
export function bundle(options: BundleOptions): Promise<Uint8Array> {
  return withBundler(() => bundled(options));
}

interface AppFile {
  /** With a digest of its content, so that it never means anything else. */
  name: string;
  bytes: Uint8Array;
}

export interface AppBundle {
  files: AppFile[];
  script: string;
  /** Null where the entry imports no styles. */
  style: string | null;
  /** Scripts that the first one imports at once, to be fetched beside it. */
  preloads: string[];
  /** By the path of each source that is imported later: its script, and those which that imports at once. */
  later: ReadonlyMap<string, readonly string[]>;
}

/**
 * The modules of an application: those that its entry imports at once, and a file more for each that it imports later.
 * Its JSX becomes calls of Preact; the styles that it imports become one file. Throws BundleError.
 *
 * @param first Modules of those imported later that most visits begin with: what they share with others is with them.
 */
export function bundleApp(entry: string, first: readonly string[] = []): Promise<AppBundle> {
  return withBundler(() => bundledApp(entry, first));
}

async function withBundler<T>(run: () => Promise<T>): Promise<T> {
  underWay += 1;
  try {
    return await run();
  } finally {
    underWay -= 1;
    // The bundler is a process of its own that would stay.
    if (underWay === 0) await stop();
  }
}

const COMMON = {
  bundle: true,
  write: false,
  minify: true,
  platform: 'browser',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
} as const satisfies BuildOptions;

async function bundled({
  entry,
  format,
  manglesUnderscored,
  runsWhole,
  define = {},
}: BundleOptions): Promise<Uint8Array> {
  const { outputFiles } = await built({
    ...COMMON,
    entryPoints: [entry],
    format,
    define,
    target: TARGET,
    // In sloppy mode what is said of these scripts holds as well, in fewer bytes.
    tsconfigRaw: { compilerOptions: { alwaysStrict: false } },
    ...(manglesUnderscored === true && { mangleProps: /_$/ }),
    ...(runsWhole === true && { banner: { js: COMPILE_WHOLE } }),
  });
  const [file] = outputFiles;
  if (file === undefined) throw new BundleError(`${entry} gave no script`);
  return file.contents;
}

/** Where the files of an application would be written; nothing is. */
const OUT = '/app';

async function bundledApp(entry: string, first: readonly string[]): Promise<AppBundle> {
  const { outputFiles, metafile } = await built({
    ...COMMON,
    entryPoints: [entry],
    format: 'esm',
    target: APP_TARGET,
    splitting: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: OUT,
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    assetNames: '[name].[hash]',
    metafile: true,
    // Whatever of an application is fetched is drawn at once, and calls most of its functions.
    banner: { js: COMPILE_WHOLE },
    plugins: [importedByAll([entry, ...first])],
  });
  const outputs = Object.entries(metafile.outputs);
  const [path, output] =
    outputs.find(([, { entryPoint }]) => entryPoint !== undefined && resolve(entryPoint) === resolve(entry)) ?? [];
  if (path === undefined || output === undefined) throw new BundleError(`${entry} gave no script`);
  const style = output.cssBundle === undefined ? null : basename(output.cssBundle);
  return {
    files: outputFiles
      .map(({ path: at, contents }) => ({ name: basename(at), bytes: contents }))
      // Later modules import the entry, and so bring its styles, which are there by then.
      .filter(({ name }) => !name.endsWith('.css') || name === style),
    script: basename(path),
    style,
    preloads: importedAtOnce(metafile, path).map((at) => basename(at)),
    later: new Map(
      outputs.flatMap(([at, { entryPoint }]) =>
        entryPoint === undefined || at === path
          ? []
          : [[resolve(entryPoint), [at, ...importedAtOnce(metafile, at)].map((one) => basename(one))] as const],
      ),
    ),
  };
}

/**
 * Has every module that is imported later import these as well, which are there by then or soon. So what they import has the
 * same importers, and becomes one file of each: the bundler else makes one for each set of later modules that share
 * something, and browsers fetch few files at once.
 */
function importedByAll(entries: readonly string[]): Plugin {
  // Those after the entry may be loaded by this before it is seen that they are imported later.
  const later = new Set<string>(entries.slice(1));
  return {
    name: 'imported-by-all',
    setup(bundling) {
      bundling.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        if (kind === 'dynamic-import') later.add(resolve(resolveDir, path));
        return undefined;
      });
      bundling.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        if (!later.has(path)) return undefined;
        const others = entries.filter((one) => one !== path).map((one) => `import ${JSON.stringify(one)};`);
        const contents = [await readFile(path, 'utf8'), ...others].join('\n');
        return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
      });
    },
  };
}

/** The scripts that one imports at once, and those which these import. */
function importedAtOnce({ outputs }: Metafile, of: string): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    for (const { kind, path: imported } of outputs[path]?.imports ?? []) {
      if (kind !== 'import-statement' || found.has(imported)) continue;
      found.add(imported);
      visit(imported);
    }
  };
  visit(of);
  return [...found];
}

interface Built extends BuildResult {
  outputFiles: OutputFile[];
  metafile: Metafile;
}

async function built(options: BuildOptions): Promise<Built> {
  const result = await build(options).catch((error: unknown) => {
    throw new BundleError(placesOf((error as { errors?: Message[] }).errors) ?? String(error), { cause: error });
  });
  const warned = placesOf(result.warnings);
  if (warned !== undefined) throw new BundleError(warned);
  return result as Built;
}

function placesOf(messages: Message[] = []): string | undefined {
  if (messages.length === 0) return undefined;
  return messages.map(({ location, text }) => `${location?.file ?? ''}:${location?.line ?? ''}: ${text}`).join('\n');
}
