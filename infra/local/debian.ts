import { existsSync, globSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath, runTool } from './tool.ts';

const APT_LISTS = '/var/lib/apt/lists';
/** Where packages put shared libraries; libpulse has a part of its own in the last folder. */
const LIBRARIES = ['lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*/pulseaudio'];

/**
 * Unpacks packages of the distribution into a folder, with the packages they need that this machine lacks. It installs
 * nothing and starts no daemon.
 *
 * @throws LocalError or Error where there is no apt, no such package or no network.
 */
export async function unpackDebianPackages(
  folder: string,
  wanted: readonly [string, ...string[]],
  onProgress: (line: string) => void,
): Promise<void> {
  if (findOnPath('apt-get') === undefined) throw new Error('no apt-get here');
  const names = await missingPackages(wanted, onProgress);
  onProgress(`${wanted[0]}: ${names.length} Debian packages, unpacked, not installed`);
  await runTool('apt-get', ['download', ...names], { cwd: folder });
  for (const archive of globSync('*.deb', { cwd: folder })) {
    await runTool('dpkg-deb', ['-x', archive, '.'], { cwd: folder });
  }
}

/** The folders of the shared libraries that were unpacked, as LD_LIBRARY_PATH takes them; empty where there are none. */
export function unpackedLibraries(folder: string): string {
  return globSync(LIBRARIES, { cwd: folder })
    .map((name) => join(folder, name))
    .join(':');
}

async function missingPackages(
  wanted: readonly [string, ...string[]],
  onProgress: (line: string) => void,
): Promise<string[]> {
  if (!hasPackageLists()) {
    onProgress(`${wanted[0]}: apt-get update, since this machine has no package lists`);
    await runTool('apt-get', ['update']);
  }
  const plan = await runTool('apt-get', ['install', '--simulate', '--no-install-recommends', ...wanted]);
  return [...plan.matchAll(/^Inst (\S+)/gm)].flatMap((match) => match[1] ?? []);
}

function hasPackageLists(): boolean {
  return existsSync(APT_LISTS) && readdirSync(APT_LISTS).some((file) => file.includes('_Packages'));
}
