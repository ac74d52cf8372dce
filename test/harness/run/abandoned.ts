import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '#services/local/parts/processes.ts';

/** Folders in `parent`, made with `mkdtemp` under a prefix and `owner()`, whose owner is gone: a run that was killed left them. */
export function abandonedFolders(parent: string, prefix: string): string[] {
  return readdirSync(parent)
    .filter((name) => {
      if (!name.startsWith(prefix)) return false;
      const [, pid, start] = /^(\d+)-(\d+)\./.exec(name.slice(prefix.length)) ?? [];
      return pid !== undefined && start !== undefined && processStart(Number(pid)) !== start;
    })
    .map((name) => join(parent, name));
}
