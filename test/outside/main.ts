// What `npm run test:outside` runs: testers that others wrote. promtool tests the alerting rules (`--only rules`: nothing else), Schemathesis
// the documents of a service of its own; that is written in Python and no package
// of ours: it is put into a folder of .local once, where `--tester COMMAND` names no other.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { onParentGone } from '#services/local/parts/processes.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { add, type BatchCounts, failed, summary } from '#test/harness/run/tally.ts';
import { testAlertRules } from './alert_rules.ts';
import { testDocuments } from './openapi.ts';

const VERSION = '4.32.5';
const FOLDER = fileURLToPath(new URL(`../../.local/outside/schemathesis-${VERSION}`, import.meta.url));
const TESTER = `${FOLDER}/bin/schemathesis`;
const INTERRUPTED = 130;

const { values } = parseArgs({
  options: {
    tester: { type: 'string' },
    only: { type: 'string' },
    examples: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
});
const scratch = await makeScratch();
async function leave(status: number): Promise<never> {
  await scratch.clear();
  process.exit(status);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(INTERRUPTED));
onParentGone(() => void leave(INTERRUPTED));

const tally = await test().catch((error: unknown) => failed([`the run: ${String(error)}`]));
console.log(summary(tally));
await leave(tally.failed === 0 ? 0 : 1);

async function test(): Promise<BatchCounts> {
  const rules = await testAlertRules();
  if (values.only === 'rules') return rules;
  const tester = values.tester ?? installed();
  return add(rules, await testDocuments({ ...values, tester, dataDir: `${scratch.path}/outside` }));
}

/** The pinned tester, installed if it is not there yet. */
function installed(): string {
  if (existsSync(TESTER)) return TESTER;
  console.log(`installing Schemathesis ${VERSION} in ${FOLDER}`);
  run('python3', ['-m', 'venv', FOLDER]);
  run(`${FOLDER}/bin/pip`, ['install', '--quiet', `schemathesis==${VERSION}`]);
  return TESTER;
}

function run(command: string, words: string[]): void {
  const { status, error } = spawnSync(command, words, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${error?.message ?? `exit status ${status}`}`);
}
