import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ensureFolder,
  findOnPath,
  isExecutable,
  unpackDebianPackages,
  whileLocked,
} from '#services/local/parts/tools.ts';

const PARTS = fileURLToPath(new URL('../../.local/parts', import.meta.url));
const PROGRAM = 'usr/bin/caddy';

/**
 * The machine's own Caddy; else Debian's package, unpacked into `.local/parts` and not installed.
 *
 * @throws where there is neither, with what the test needs.
 */
export async function findCaddy(): Promise<string> {
  const installed = findOnPath('caddy');
  if (installed !== undefined) return installed;
  try {
    return await whileLocked(PARTS, async () => {
      const folder = await ensureFolder(PARTS, 'caddy-debian', async (draft) => {
        await unpackDebianPackages(draft, ['caddy'], () => undefined);
        if (!isExecutable(join(draft, PROGRAM))) throw new Error('the package holds no caddy');
      });
      return join(folder, PROGRAM);
    });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`this test needs caddy on the PATH, or Debian's package by apt-get: ${cause}`, { cause: error });
  }
}
