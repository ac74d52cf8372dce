// What `npm run fault` runs: every row of the matrix, or those chosen, on real processes and real parts. Exit status 0
// where every row held, or with --broken where every broken variant was caught; each counts as one in the last line, as a test does.
// The logs of a row that failed are kept.
import { cpSync } from 'node:fs';
import { Agent, setGlobalDispatcher } from 'undici';
import { onParentGone } from '#services/local/parts/processes.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { add, type BatchCounts, failed, NOTHING, summary } from '#test/harness/run/tally.ts';
import { logTails } from '#test/harness/service.ts';
import { runBroken } from './broken/run_broken.ts';
import { MATRIX } from './matrix.ts';
import { type FaultOptions, faultOptions, isWanted, type RollingOptions } from './options.ts';
import { report } from './report.ts';
import { runRolling } from './rolling/drill.ts';
import { runRows } from './run_rows.ts';
import { startWorld } from './world/fault_world.ts';
import { SINGLE } from './world/layout.ts';

const say = (line: string): void => console.log(line);
const INTERRUPTED = 130;

/*
 * A connection of its own for each request: a server closes one that idled, and a machine that is busy learns of it only after
 * it has sent the next request on it, which then fails though nothing is wrong.
 */
setGlobalDispatcher(new Agent({ pipelining: 0 }));

const options = faultOptions(process.argv.slice(2));
if (options.list) {
  for (const { name } of MATRIX) say(name);
  process.exit(0);
}
const scratch = await makeScratch();
async function leave(status: number): Promise<never> {
  await scratch.clear();
  process.exit(status);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(INTERRUPTED));
onParentGone(() => void leave(INTERRUPTED));

say(`seed ${options.seed}`);
const { rolling } = options;
const tally = await (rolling === null ? (options.broken ? broken(options) : matrix(options)) : drill(rolling)).catch(
  (error: unknown) => {
    console.error(error);
    return failed([`the run: ${String(error)}`]);
  },
);
say(summary(tally));
await leave(tally.failed === 0 && tally.passed > 0 ? 0 : 1);

/** Each row that held passed, and each that did not failed. */
async function matrix(wanted: FaultOptions): Promise<BatchCounts> {
  const rows = MATRIX.filter(({ name, smoke }) => isWanted(wanted, name) && (!wanted.smoke || smoke === true));
  const onFailed = (row: string, logs: string): void => {
    const kept = `.local/fault/${wanted.seed}-${row}`;
    cpSync(logs, kept, { recursive: true });
    say(`  logs: ${kept}`);
  };
  const results = await runRows(rows, scratch.path, { ...wanted, say, onFailed });
  say(`\n${report(results, wanted.seed)}`);
  return tallyOf(results.map(({ name, problems: [problem] }) => ({ name, problem })));
}

/** Each variant that its row noticed passed, and each other failed. */
async function broken(wanted: FaultOptions): Promise<BatchCounts> {
  const dataDir = `${scratch.path}/broken`;
  const world = await startWorld({ dataDir, layout: SINGLE, special: {}, onProgress: say }).catch((error: unknown) => {
    say(logTails(dataDir));
    throw error;
  });
  const caught = await runBroken(world, wanted, { ...wanted, say });
  await world.stop();
  say(`\n${caught.filter(({ problem }) => problem !== null).length} of ${caught.length} broken variants were caught`);
  return tallyOf(
    caught.map(({ variant, row, problem }) => ({
      name: variant,
      problem: problem === null ? `not caught by ${row}` : undefined,
    })),
  );
}

async function drill(wanted: RollingOptions): Promise<BatchCounts> {
  const dataDir = `${scratch.path}/rolling`;
  const problems = await runRolling(dataDir, wanted, say).catch((error: unknown) => {
    say(logTails(dataDir));
    throw error;
  });
  if (problems.length > 0) {
    cpSync(`${dataDir}/log`, '.local/fault/rolling', { recursive: true });
    say('logs: .local/fault/rolling');
  }
  return tallyOf([{ name: 'rolling', problem: problems[0] }]);
}

function tallyOf(rows: readonly { name: string; problem: string | undefined }[]): BatchCounts {
  const failures = rows.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`${name}: ${problem.split('\n', 1)[0]}`],
  );
  return add({ ...NOTHING, passed: rows.length - failures.length }, failed(failures));
}
