import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { copyArtifact, pinnedVersion } from '../maven/maven.ts';
import { ensureFolder } from '../parts_folder.ts';
import { runTool } from '../tool.ts';

const ARTIFACT = 'io.apicurio:apicurio-registry-app';

/** The schema registry, unpacked. Returns its folder. */
export function ensureRegistry(partsDir: string, onProgress: (line: string) => void): Promise<string> {
  const version = pinnedVersion('registry');
  return ensureFolder(partsDir, `registry-${version}`, async (draft) => {
    onProgress(`registry ${version}: 159 MB, by Maven`);
    const progress = (done: string) => onProgress(`registry ${version}: ${done} of 159 MB`);
    await copyArtifact(`${ARTIFACT}:${version}:tar.gz:all`, draft, progress);
    for (const name of globSync('*.tar.gz', { cwd: draft })) {
      const archive = join(draft, name);
      await runTool('tar', ['-xzf', archive, '-C', draft]);
      rmSync(archive);
    }
  });
}
