import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findOnPath, isExecutable, unpackDebianPackages } from '#services/local/parts/tools.ts';
import { type BatchCounts, failed, NOTHING } from '#test/harness/run/tally.ts';

const FOLDER = fileURLToPath(new URL('../../.local/outside/prometheus', import.meta.url));
const TESTS = fileURLToPath(new URL('../../deploy/prometheus/rules.test.yaml', import.meta.url));

/** Runs the unit tests of the alerting rules with Prometheus' own promtool; each of the two things it is asked counts as a test. */
export async function testAlertRules(): Promise<BatchCounts> {
  const promtool = findOnPath('promtool') ?? (await unpacked());
  const asked = [
    ['check', 'rules', TESTS.replace('.test.yaml', '.yaml')],
    ['test', 'rules', TESTS],
  ];
  const failures = asked.flatMap((words) => {
    const { status, error } = spawnSync(promtool, words, { stdio: 'inherit' });
    return status === 0 ? [] : [`promtool ${words.join(' ')}: ${error?.message ?? `exit status ${status}`}`];
  });
  return failures.length === 0 ? { ...NOTHING, passed: asked.length } : failed(failures);
}

/** That of Debian's package of Prometheus, which is unpacked and not installed, so that no server starts. */
async function unpacked(): Promise<string> {
  const promtool = `${FOLDER}/usr/bin/promtool`;
  if (isExecutable(promtool)) return promtool;
  mkdirSync(FOLDER, { recursive: true });
  await unpackDebianPackages(FOLDER, ['prometheus'], console.log);
  return promtool;
}
