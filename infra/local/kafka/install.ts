import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { copyDependencies, pinnedVersion } from '../maven/maven.ts';
import { ensureFolder } from '../parts_folder.ts';

/** The broker's jars, about 46 of them. Returns their folder. */
export function ensureKafka(partsDir: string, onProgress: (line: string) => void): Promise<string> {
  const version = pinnedVersion('kafka');
  return ensureFolder(partsDir, `kafka-${version}`, async (draft) => {
    onProgress(`kafka ${version}: 46 jars, 45 MB, by Maven`);
    await copyDependencies(draft, (done) => onProgress(`kafka ${version}: ${done} so far, with Maven plugins`));
  });
}

/** In a fixed order, because a class archive only fits the class path it was made with. */
export function classPath(jars: string): string {
  return readdirSync(jars)
    .sort()
    .map((name) => join(jars, name))
    .join(':');
}
