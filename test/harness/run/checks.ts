import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Tally } from './tally.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const CHECKS = [
  ['biome', 'check', '.'],
  ['tsc', '-p', '.'],
  ['tsc', '-p', 'services/tag'],
  ['oxlint', '--type-aware'],
] as const;

/** Formatter, compiler and linter, as `npm run check` has them; each counts as one test. */
export function runChecks(): Tally {
  const failed = CHECKS.filter(([command, ...words]) => {
    console.log(`check: ${command} ${words.join(' ')}`);
    const { status, error } = spawnSync(`${ROOT}node_modules/.bin/${command}`, words, { cwd: ROOT, stdio: 'inherit' });
    if (status !== 0) console.log(`check: ${command} FAILED ${error?.message ?? ''}`);
    return status !== 0;
  }).length;
  return { passed: CHECKS.length - failed, failed, skipped: 0 };
}
