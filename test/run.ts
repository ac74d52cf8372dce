// What `npm test` runs: the checks, then the tests of every run, each once; or with `-- PATH… [-t NAME]` only the tests chosen by that.
// `npm run test:NAME` runs another suite (`--suite NAME`), and `npm run test:all` every one. docs/testing.md says which is for what.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Vitest } from 'vitest/node';
import { onParentGone } from '#services/local/parts/processes.ts';
import { runChecks } from './harness/run/checks.ts';
import { COMMANDS, type CommandName, runCommand } from './harness/run/commands.ts';
import type { SuiteName } from './harness/run/projects.ts';
import { makeScratch, type Scratch } from './harness/run/scratch.ts';
import { runSuite } from './harness/run/suites.ts';
import { add, type BatchCounts, failed, NOTHING, slowest, summary } from './harness/run/tally.ts';
import { endSharedParts } from './harness/shared_parts.ts';

const INTERRUPTED = 130;
const RECORDS = '.local/test';
/** The suites in the order in which `npm run test:all` runs them. */
const ORDER = [
  'default',
  'e2e',
  'clients',
  'browser',
  'kill',
  'cluster',
  'fault',
  'perf',
  'fuzz',
  'docs',
  'outside',
] as const;
/** Linux counts CPU times in hundredths of a second. */
const TICKS = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    testNamePattern: { type: 'string', short: 't' },
    suite: { type: 'string' },
    // Ends at the first test that fails.
    first: { type: 'boolean', default: false },
  },
});
const suites = suitesOf(values.suite ?? 'default');
const chosen = { paths: positionals, name: values.testNamePattern, bail: values.first ? 1 : 0 };
const isChosen = positionals.length > 0 || values.testNamePattern !== undefined;
const scratch = await makeScratch();
const interrupt = interruption(scratch);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void interrupt(signal));
onParentGone(() => void interrupt('the terminal is gone'));

let tally = NOTHING;
try {
  if (isChosen) {
    // A file of these is one of another suite, with more cases or another Redis.
    const among =
      values.suite === undefined ? ORDER.filter((suite) => suite !== 'fuzz' && suite !== 'cluster') : suites;
    for (const suite of among) if (!isCommand(suite)) tally = add(tally, await runSuite(suite, onStart, chosen));
  } else for (const suite of suites) tally = add(tally, await runWhole(suite));
} catch (error) {
  console.error(error);
  tally = add(tally, failed([`the run: ${String(error)}`]));
}
await endSharedParts();
const left = await scratch.leftBehind();
tally = add(tally, failed(left.map(({ pid, command }) => `left behind: ${pid} ${command}`)));
await scratch.clear();
console.log(`${Math.round(performance.now() / 1_000)} s in all, ${cpuSeconds()} s of processor time`);
if (tally.skipped > 0) console.log(`${tally.skipped} skipped`);
if (tally.passed + tally.failed === 0) console.log('no test ran');
console.log(summary(tally));
process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1);

function suitesOf(name: string): readonly (SuiteName | CommandName)[] {
  if (name === 'all') return ORDER;
  const found = ORDER.find((one) => one === name);
  if (found !== undefined) return [found];
  process.stderr.write(`--suite must be one of: ${ORDER.join(', ')}, all\n`);
  process.exit(2);
}

function isCommand(suite: SuiteName | CommandName): suite is CommandName {
  return suite in COMMANDS;
}

/** Runs a suite, with parts that no other had, and writes down how long each of its files took. */
async function runWhole(name: SuiteName | CommandName): Promise<BatchCounts> {
  const startedMs = performance.now();
  console.log(`\nsuite ${name}`);
  let ran = name === 'default' ? runChecks() : NOTHING;
  ran = add(ran, isCommand(name) ? await runCommand(name) : await runSuite(name, onStart));
  await endSharedParts();
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  mkdirSync(RECORDS, { recursive: true });
  const record = { suite: name, seconds, passed: ran.passed, failed: ran.failed, files: ran.files };
  writeFileSync(`${RECORDS}/${name}.json`, `${JSON.stringify(record, null, 1)}\n`);
  console.log(`\nthe slowest files:\n${slowest(ran).join('\n')}`);
  console.log(`${name}: ${seconds} s, durations in ${RECORDS}/${name}.json`);
  return ran;
}

/** Of this process and of what it started and has ended. */
function cpuSeconds(): number {
  const [, after = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = after.split(' ').slice(11, 15).map(Number);
  return Math.round((user + system + childrenUser + childrenSystem) / TICKS);
}

/** The runner would leave at once on these, with the service still up. */
function onStart(_vitest: Vitest): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => void interrupt(signal));
  }
}

/** Ends everything at once: what the tests wrote is thrown away anyway. */
function interruption(of: Scratch): (why: string) => Promise<void> {
  let interrupted = false;
  return async (why) => {
    if (interrupted) return;
    interrupted = true;
    console.log(`\nstopping (${why})`);
    await of.clear();
    console.log(summary(failed([`the run was stopped (${why})`])));
    process.exit(INTERRUPTED);
  };
}
