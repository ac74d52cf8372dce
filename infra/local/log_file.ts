import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync } from 'node:fs';

const TAIL_BYTES_MAX = 16_384;

/** Opens an empty log for a part. The log of the start before stays beside it; older ones are deleted. */
export function openLog(path: string): number {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return openSync(path, 'a');
}

/** The last lines of a log, for an error message. */
export function lastLines(path: string, count: number): string {
  const text = readEnd(path);
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

function readEnd(path: string): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const size = fstatSync(file).size;
    const length = Math.min(size, TAIL_BYTES_MAX);
    const buffer = Buffer.alloc(length);
    readSync(file, buffer, 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    closeSync(file);
  }
}
