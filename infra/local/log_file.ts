import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
} from 'node:fs';

const TAIL_BYTES_MAX = 16_384;

/** Opens an empty log for a part. The log before it stays beside it; older ones are deleted. */
export function openLog(path: string): number {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return openSync(path, 'a');
}

/** Opens an empty log for a part that is started again: what ended it goes behind the log before, however often it is tried. */
export function reopenLog(path: string): number {
  if (existsSync(path)) appendFileSync(`${path}.1`, readFileSync(path));
  return openSync(path, 'w');
}

/** The last lines of a log, for an error message. */
export function lastLines(path: string, count: number): string {
  const text = readEnd(path);
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

/** What a part says when it cannot go on; of Java the line before its stack trace. */
const TROUBLE = /\b(?:ERROR|FATAL)\b|No space left on device|Exception: |Out of memory/;

/** The last line at the end of a log that tells of trouble; null where none does. */
export function lastTrouble(path: string): string | null {
  return (
    readEnd(path)
      .split('\n')
      .findLast((line) => TROUBLE.test(line)) ?? null
  );
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
