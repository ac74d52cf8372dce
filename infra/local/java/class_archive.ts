import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PartPlan } from '../part.ts';
import { ensureFolder } from '../parts_folder.ts';
import type { Java } from './install.ts';

const FILE = 'classes.jsa';
/** How long a part may take to end while it is recorded, because it writes the archive then. */
const DUMP_TIMEOUT_MS = 60_000;

/** Runs a part once, from its start to its graceful end, with these Java options and its data in a folder. */
export type RunOnce = (recording: string[], scratch: string) => Promise<void>;

/**
 * Java options that make a part load its classes from an archive, so that it starts faster. The archive is made once for each
 * Java and each `version` of the part (a text that can name a folder), by starting and ending the part. If Java cannot make
 * one, the part only starts slower.
 */
export async function ensureClassArchive(
  partsDir: string,
  java: Java,
  version: string,
  size: string,
  runOnce: RunOnce,
  onProgress: (line: string) => void,
): Promise<string[]> {
  const build = createHash('sha256').update(java.path).update(java.version).digest('hex').slice(0, 8);
  try {
    const folder = await ensureFolder(partsDir, `${version}-classes-${build}`, async (draft) => {
      onProgress(`${version}: making a class archive, so that later starts are quick (${size})`);
      const scratch = join(draft, 'scratch');
      await runOnce([`-XX:ArchiveClassesAtExit=${join(draft, FILE)}`], scratch);
      rmSync(scratch, { recursive: true, force: true });
    });
    return existsSync(join(folder, FILE)) ? [`-XX:SharedArchiveFile=${join(folder, FILE)}`] : [];
  } catch (error) {
    onProgress(`${version}: no class archive: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

/** The plan of a part while it is recorded. */
export function recorded(plan: PartPlan): PartPlan {
  return { ...plan, stopTimeoutMs: DUMP_TIMEOUT_MS };
}
