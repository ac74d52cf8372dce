// What `npm run fault` runs: every row of the matrix, or those chosen, on real processes and real parts. Exit status 0
// where every row held, or with --broken where every broken variant was caught. The logs of a row that failed are kept.
import { cpSync } from 'node:fs';
import { onParentGone } from '#infra/local/parent.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { logTails } from '#test/harness/service.ts';
import { runBroken } from './broken/run_broken.ts';
import { MATRIX } from './matrix.ts';
import { type FaultOptions, faultOptions, isWanted } from './options.ts';
import { report } from './report.ts';
import { runRows } from './run_rows.ts';
import { startWorld } from './world/fault_world.ts';

const say = (line: string): void => console.log(line);
const INTERRUPTED = 130;

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
const held = await (options.broken ? allCaught(options) : allHeld(options)).catch((error: unknown) => {
  console.error(error);
  return false;
});
await leave(held ? 0 : 1);

async function allHeld(wanted: FaultOptions): Promise<boolean> {
  const rows = MATRIX.filter(({ name, smoke }) => isWanted(wanted, name) && (!wanted.smoke || smoke === true));
  const onFailed = (row: string, logs: string): void => {
    const kept = `.local/fault/${wanted.seed}-${row}`;
    cpSync(logs, kept, { recursive: true });
    say(`  logs: ${kept}`);
  };
  const results = await runRows(rows, scratch.path, { ...wanted, say, onFailed });
  say(`\n${report(results, wanted.seed)}`);
  return results.length > 0 && results.every(({ problems }) => problems.length === 0);
}

async function allCaught(wanted: FaultOptions): Promise<boolean> {
  const dataDir = `${scratch.path}/broken`;
  const world = await startWorld({ dataDir, onProgress: say }).catch((error: unknown) => {
    say(logTails(dataDir));
    throw error;
  });
  const caught = await runBroken(world, wanted, { ...wanted, say });
  await world.stop();
  say(`\n${caught.filter(({ problem }) => problem !== null).length} of ${caught.length} broken variants were caught`);
  return caught.length > 0 && caught.every(({ problem }) => problem !== null);
}
