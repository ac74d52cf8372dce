// What `npm test` runs: the checks, then the tests, or with `-- PATH… [-t NAME]` only the tests chosen by that. `npm run test:long`
// runs, with --long, the tests that take long.
import { parseArgs } from 'node:util';
import { onParentGone } from '#infra/local/parent.ts';
import { runChecks } from './harness/run/checks.ts';
import { makeScratch, type Scratch } from './harness/run/scratch.ts';
import { isWhole, runSuites, type SuiteFilter } from './harness/run/suites.ts';
import { add, failed, NOTHING, summary, type Tally } from './harness/run/tally.ts';

const INTERRUPTED = 130;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { testNamePattern: { type: 'string', short: 't' }, long: { type: 'boolean', default: false } },
});
const filter: SuiteFilter = { paths: positionals, name: values.testNamePattern, isLong: values.long };
const scratch = await makeScratch();
const interrupt = interruption(scratch);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void interrupt(signal));
onParentGone(() => void interrupt('the terminal is gone'));

const checks = isWhole(filter) && !filter.isLong ? runChecks() : NOTHING;
const suites = await run();
await finish(add(add(checks, suites), await leftBehind()));

async function run(): Promise<Tally> {
  try {
    return await runSuites(filter, () => {
      // The runner would leave at once on these, with the service still up.
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.removeAllListeners(signal);
        process.on(signal, () => void interrupt(signal));
      }
    });
  } catch (error) {
    console.error(error);
    return failed([`the run: ${String(error)}`]);
  }
}

/** Whatever a test started must be gone by now; each process that is not counts as a failed test. */
async function leftBehind(): Promise<Tally> {
  const left = await scratch.leftBehind();
  return failed(left.map(({ pid, command }) => `left behind: ${pid} ${command}`));
}

async function finish(tally: Tally): Promise<never> {
  await scratch.clear();
  if (tally.skipped > 0) console.log(`${tally.skipped} skipped`);
  if (tally.passed + tally.failed === 0) console.log('no test ran');
  console.log(summary(tally));
  process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1);
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
