// What `npm run fault` runs: every row of the matrix, or those chosen, on real processes and real parts.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { onParentGone } from '#infra/local/parent.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { MATRIX } from './matrix.ts';
import { report } from './report.ts';
import { type RowResult, runRow } from './run_row.ts';
import { startWorld } from './world/world.ts';

const SEED_MAX = 2 ** 31;
const EVENTS = 2_000;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { seed: text, only: text, events: text, smoke: { type: 'boolean' }, list: { type: 'boolean' } },
});
const seed = values.seed === undefined ? randomInt(SEED_MAX) : Number(values.seed);
const events = Number(values.events ?? EVENTS);
const rows = MATRIX.filter(
  ({ name, smoke }) =>
    (values.only === undefined || name.startsWith(values.only)) && (values.smoke !== true || smoke === true),
);
if (values.list === true || rows.length === 0) {
  for (const { name } of MATRIX) console.log(name);
  process.exit(values.list === true ? 0 : 2);
}

const say = (line: string): void => console.log(line);
say(`seed ${seed}`);
const scratch = await makeScratch();
const interrupt = async (): Promise<never> => {
  await scratch.clear();
  process.exit(130);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void interrupt());
onParentGone(() => void interrupt());

const world = await startWorld({ dataDir: `${scratch.path}/world`, onProgress: say });
const results: RowResult[] = [];
for (const row of rows) {
  const result = await runRow(world, row, { seed, events, say });
  results.push(result);
  say(`${result.name}: ${result.problems.length === 0 ? 'held' : 'FAILED'} in ${(result.tookMs / 1_000).toFixed(1)} s`);
  for (const problem of result.problems) say(`  ${problem}`);
}
await world.stop();
await scratch.clear();
say(`\n${report(results, seed)}`);
process.exit(results.every(({ problems }) => problems.length === 0) ? 0 : 1);
