import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureFolder, whileLocked } from '#services/local/parts/tools.ts';

/** The sources of a version before this one, in a folder of their own, ready to run. */
export interface EarlierVersion {
  commit: string;
  root: string;
}

/** Its message says what to do. */
class VersionError extends Error {
  readonly code = 'earlier_version_unknown';
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const VERSIONS = join(ROOT, '.local/versions');
const MODULES = 'node_modules';
/** What the changelog begins with from the first commit behind a release on. */
const BEHIND_A_RELEASE = '## Unreleased';

/**
 * Takes a version out of git's history: `from`, or the last one that was released before this commit, by its tag, or where tags
 * were not cloned by the changelog.
 *
 * @throws VersionError where the history does not have it
 */
export async function takeEarlierVersion(from: string | null): Promise<EarlierVersion> {
  const commit = commitOf(from);
  const make = (draft: string): Promise<void> => takeOut(commit, draft);
  const root = await whileLocked(VERSIONS, () => ensureFolder(VERSIONS, commit.slice(0, 12), make));
  return { commit, root };
}

function commitOf(from: string | null): string {
  if (from !== null) {
    const found = git('rev-parse', '--verify', '--quiet', `${from}^{commit}`);
    if (found === '') throw new VersionError(`git knows no ${from}`);
    return found;
  }
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^');
  const found = tag === '' ? releasedBefore() : git('rev-parse', `${tag}^{commit}`);
  if (found === '') throw new VersionError('git has no version before this one here: say which by --from REF');
  return found;
}

function releasedBefore(): string {
  const behind = git('log', '-1', '--format=%H', `-S${BEHIND_A_RELEASE}`, 'HEAD', '--', 'CHANGELOG.md');
  return behind === '' ? '' : git('rev-parse', '--verify', '--quiet', `${behind}^`);
}

/** What git prints; nothing where it fails or is not there. */
function git(...words: string[]): string {
  const { status, stdout } = spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}

async function takeOut(commit: string, draft: string): Promise<void> {
  const archive = join(draft, 'sources.tar');
  run(ROOT, 'git', 'archive', '--format=tar', '-o', archive, commit);
  run(draft, 'tar', '-xf', archive);
  rmSync(archive);
  if (hasItsPackages(draft)) symlinkSync(join(ROOT, MODULES), join(draft, MODULES));
  else run(draft, 'npm', 'ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund');
}

function run(cwd: string, command: string, ...words: string[]): void {
  const { status, stderr, error } = spawnSync(command, words, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${words[0]} failed: ${error?.message ?? stderr}`);
}

/** Whether what is installed here is what it was made with. */
function hasItsPackages(root: string): boolean {
  const { dependencies } = read(join(root, 'package.json')) as { dependencies: Record<string, string> };
  return Object.entries(dependencies).every(([name, version]) => {
    const installed = join(ROOT, MODULES, name, 'package.json');
    return (read(installed) as { version?: string } | null)?.version === version;
  });
}

function read(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
