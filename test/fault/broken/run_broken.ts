import { type FaultOptions, isWanted } from '../options.ts';
import { type RowOptions, type RowResult, runRow } from '../run_row.ts';
import type { World } from '../world/fault_world.ts';
import { BROKEN_VARIANTS, type BrokenVariant, preloadOf } from './variants.ts';

/** Whether a row noticed what was broken. */
export interface Caught {
  variant: string;
  row: string;
  result: RowResult;
  /** What the row said of it; null where it did not. */
  problem: string | null;
}

/** Breaks one mechanism after the other and runs the row that must notice. */
export async function runBroken(
  world: World,
  wanted: Pick<FaultOptions, 'only'>,
  options: RowOptions,
): Promise<Caught[]> {
  const caught: Caught[] = [];
  for (const variant of BROKEN_VARIANTS.filter(({ name }) => isWanted(wanted, name))) {
    const one = await runOne(world, variant, options);
    caught.push(one);
    options.say(`${one.variant}: ${one.problem === null ? 'NOT CAUGHT' : `caught by ${one.row}: ${one.problem}`}`);
    if (one.problem === null) for (const problem of one.result.problems) options.say(`  ${problem}`);
  }
  return caught;
}

async function runOne(world: World, variant: BrokenVariant, options: RowOptions): Promise<Caught> {
  await world.fleet.restartWith(variant.process, [preloadOf(variant)]);
  const result = await runRow(world, variant.row, options);
  await world.fleet.restartWith(variant.process, []);
  const problem = result.problems.find((text) => variant.shows.test(text)) ?? null;
  return { variant: variant.name, row: variant.row.name, result, problem };
}
