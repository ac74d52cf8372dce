// How full the disks of the local data are.
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObservedDisk } from './status/findings.ts';

/** What has a folder of its own among the local data, which may be a disk of its own. */
const DATA_FOLDERS = ['', 'kafka', 'redis', 'clickhouse'];
const ANSWER_MS_MAX = 4_000;

/** Each disk once; those of which it cannot be said in time are left out. */
export async function readDisks(folder: string): Promise<ObservedDisk[]> {
  const late = sleep(ANSWER_MS_MAX, null, { ref: false });
  const found = await Promise.all(DATA_FOLDERS.map((name) => Promise.race([diskOf(join(folder, name)), late])));
  const known = found.filter((disk) => disk !== null);
  return [...new Map(known.toReversed().map(({ device, ...disk }) => [device, disk])).values()].toReversed();
}

async function diskOf(path: string): Promise<(ObservedDisk & { device: number }) | null> {
  try {
    const [{ dev: device }, { bavail, blocks, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { device, path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
