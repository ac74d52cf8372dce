import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { add, type BatchCounts, failed, NOTHING } from './tally.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Formatter, compiler, linter and the search for dead code, as `npm run check` has them; each counts as one test. */
export function runChecks(): BatchCounts {
  const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: { check: string } };
  return manifest.scripts.check.split(' && ').map(runCheck).reduce(add, NOTHING);
}

function runCheck(line: string): BatchCounts {
  console.log(`check: ${line}`);
  const [command = '', ...words] = line.split(' ');
  const { status, error } = spawnSync(`${ROOT}node_modules/.bin/${command}`, words, { cwd: ROOT, stdio: 'inherit' });
  if (status === 0) return { ...NOTHING, passed: 1 };
  return failed([`check: ${line} ${error?.message ?? ''}`.trimEnd()]);
}
