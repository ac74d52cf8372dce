import type { Context } from './command.ts';
import { UsageError } from './usage_error.ts';

/** Reads a file, or standard input for `-`. @throws UsageError when there is no such file or it may not be read. */
export function readText(context: Pick<Context, 'readFile' | 'readStdin'>, path: string): string {
  if (path === '-') return context.readStdin();
  try {
    return context.readFile(path);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new UsageError('file_unreadable', `${path} cannot be read (${String(error.code)})`);
  }
}
