// Logs of what runs here, kept from filling the disk.
import { copyFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/** Of one log; with the one before it twice as much. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Moves the lines of each log that has become too large to a second file beside it, in place of those that were there. What
 * writes it goes on, as it only appends; a line that is written in this very moment may be lost.
 */
export function rotateLogs(folder: string, bytesMax = LOG_BYTES_MAX): void {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.log'))) {
    const path = join(folder, name);
    if (statSync(path).size <= bytesMax) continue;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  }
}
