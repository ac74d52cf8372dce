import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A small file system in memory for the folder of a part. */
export interface SmallDisk {
  /** Leaves room for a few records only. */
  fill(): void;
  /** Gives the room back. */
  free(): void;
  unmount(): void;
}

const MIB = 160;
const LEFT_BYTES = 256 * 1024;
const BLOCK_BYTES = 1024 * 1024;

/** Mounts it at a folder; null where this user may not mount. */
export function mountSmallDisk(folder: string, mib = MIB): SmallDisk | null {
  mkdirSync(folder, { recursive: true });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder]).status !== 0) return null;
  const filler = join(folder, 'filler');
  const unmount = (): void => {
    if (existsSync(folder)) spawnSync('umount', ['-l', folder]);
  };
  process.once('exit', unmount);
  return {
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      const bytes = Math.max(0, bavail * bsize - LEFT_BYTES);
      try {
        for (let written = 0; written < bytes; written += BLOCK_BYTES) {
          writeFileSync(filler, Buffer.alloc(Math.min(BLOCK_BYTES, bytes - written)), { flag: 'a' });
        }
      } catch (error) {
        // The part has taken some of the room meanwhile: the disk is as full as can be.
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount,
  };
}
