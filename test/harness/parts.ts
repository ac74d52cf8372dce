import type { LocalParts } from '#services/local/parts/parts.ts';

/** Ends parts whose data nobody wants any more: at once, as writing it down takes longer than most tests. */
export async function discard({ parts, stop }: Pick<LocalParts, 'parts' | 'stop'>): Promise<void> {
  for (const part of Object.values(parts)) part.kill('SIGKILL');
  await stop();
}
