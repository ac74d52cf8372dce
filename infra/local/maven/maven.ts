import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runTool } from '../tool.ts';
import { createTransfer } from './transfer.ts';

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin';
const PROGRESS_MS = 1_000;

/** A version pinned in pom.xml. */
export function pinnedVersion(name: 'kafka' | 'registry' | 'dependency.plugin'): string {
  const found = readFileSync(POM, 'utf8').match(`<${name}.version>([^<]+)</`);
  if (found?.[1] === undefined) throw new Error(`pom.xml has no ${name}.version`);
  return found[1];
}

/** Copies every runtime dependency of pom.xml into a folder. */
export function copyDependencies(folder: string, onProgress: (transferred: string) => void): Promise<void> {
  return runMaven(['copy-dependencies', `-DoutputDirectory=${folder}`, '-DincludeScope=runtime'], onProgress);
}

/** Copies one artifact, named group:artifact:version:type:classifier, into a folder. */
export function copyArtifact(
  artifact: string,
  folder: string,
  onProgress: (transferred: string) => void,
): Promise<void> {
  return runMaven(['copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`], onProgress);
}

/** Without -B, because only then Maven reports the progress of a transfer; with -C what differs from its checksum is refused. */
async function runMaven([goal, ...args]: [string, ...string[]], onProgress: (line: string) => void): Promise<void> {
  const transfer = createTransfer();
  const timer = setInterval(() => {
    const line = transfer.summary();
    if (line !== undefined) onProgress(line);
  }, PROGRESS_MS);
  const plugin = `${PLUGIN}:${pinnedVersion('dependency.plugin')}:${goal}`;
  try {
    await runTool('mvn', ['-C', '-f', POM, plugin, ...args], { onOutput: (chunk) => transfer.read(chunk) });
  } finally {
    clearInterval(timer);
  }
}
