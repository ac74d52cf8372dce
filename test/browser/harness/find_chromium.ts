import { chmodSync, createReadStream, createWriteStream, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import {
  ensureFolder,
  findOnPath,
  isExecutable,
  runTool,
  unpackDebianPackages,
  unpackedLibraries,
  whileLocked,
} from '#services/local/parts/tools.ts';
import { chromiumChosen } from './config.ts';

/**
 * The browser that people have, or its headless shell: the same engine without windows, profiles and the cache of pages, which
 * shows a page with less than half of the CPU time.
 */
export type ChromiumKind = 'whole' | 'shell';

/** A browser to start, with what its environment needs beside this process's own. */
export interface ChromiumProgram {
  command: string;
  env: Record<string, string>;
  /** Whether it keeps pages for the way back, which a headless shell does not. */
  keepsPages: boolean;
}

const PARTS = fileURLToPath(new URL('../../../.local/parts', import.meta.url));
const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const DEBIAN_FOLDER = 'chromium-and-shell-debian';
const DEBIAN_PROGRAMS = {
  whole: 'usr/lib/chromium/chromium',
  shell: 'usr/lib/chromium/chromium-headless-shell',
} as const;
const CARRIED_FOLDER = 'chromium-carried';

/** Both the machine's fonts and those unpacked: without any, text has no width and nothing can be clicked. */
const fonts = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${join(folder, 'usr/share/fonts')}</dir>
  <dir>${join(folder, 'fonts')}</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;

/**
 * The Chromium that SVC_CHROMIUM names; else the machine's own; else Debian's packages, unpacked without installing them;
 * else the headless shell that an npm package carries, which cannot do everything. A browser that
 * is named or installed does for both kinds.
 */
export async function findChromium(kind: ChromiumKind, onProgress: (line: string) => void): Promise<ChromiumProgram> {
  const chosen = chromiumChosen() ?? INSTALLED.map(findOnPath).find((path) => path !== undefined);
  if (chosen !== undefined) return { command: chosen, env: {}, keepsPages: true };
  return whileLocked(PARTS, async () => {
    try {
      return await debianChromium(kind, onProgress);
    } catch (error) {
      onProgress(`Debian's chromium cannot be had: ${error instanceof Error ? error.message : String(error)}`);
      return carried(onProgress);
    }
  });
}

/** The browser that the npm package carries, with the libraries that a bare machine lacks. */
export function carriedChromium(onProgress: (line: string) => void): Promise<ChromiumProgram> {
  return whileLocked(PARTS, () => carried(onProgress));
}

async function debianChromium(kind: ChromiumKind, onProgress: (line: string) => void): Promise<ChromiumProgram> {
  const folder = await ensureFolder(PARTS, DEBIAN_FOLDER, async (draft) => {
    await unpackDebianPackages(draft, ['chromium', 'chromium-headless-shell'], onProgress);
    const programs = Object.values(DEBIAN_PROGRAMS);
    if (!programs.every((path) => isExecutable(join(draft, path)))) throw new Error('the packages hold no browser');
  });
  return {
    command: join(folder, DEBIAN_PROGRAMS[kind]),
    env: browserEnvironment(folder, unpackedLibraries(folder)),
    keepsPages: kind === 'whole',
  };
}

async function carried(onProgress: (line: string) => void): Promise<ChromiumProgram> {
  const folder = await ensureFolder(PARTS, CARRIED_FOLDER, (draft) => unpackCarried(draft, onProgress));
  const env = browserEnvironment(folder, join(folder, 'lib'));
  return { command: join(folder, 'chromium'), env, keepsPages: false };
}

async function unpackCarried(folder: string, onProgress: (line: string) => void): Promise<void> {
  onProgress('chromium: unpacking the one of @sparticuz/chromium');
  const archives = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '../bin');
  if (!existsSync(archives)) throw new Error('@sparticuz/chromium holds no browser');
  await unbrotli(join(archives, 'chromium.br'), join(folder, 'chromium'));
  chmodSync(join(folder, 'chromium'), 0o755);
  for (const name of ['al2023.tar', 'fonts.tar', 'swiftshader.tar']) {
    await unbrotli(join(archives, `${name}.br`), join(folder, name));
    await runTool('tar', ['-xf', name], { cwd: folder });
  }
}

function unbrotli(from: string, to: string): Promise<void> {
  return pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
}

function browserEnvironment(folder: string, libraries: string): Record<string, string> {
  writeFileSync(join(folder, 'fonts.conf'), fonts(folder));
  return { LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: join(folder, 'fonts.conf') };
}
