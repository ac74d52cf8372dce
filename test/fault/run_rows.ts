import type { Row } from './row.ts';
import { type RowOptions, type RowResult, runRow } from './run_row.ts';
import type { World } from './world/fault_world.ts';
import { openPlace } from './world/places.ts';

/** Runs rows in the world each needs; a world is started once for all its rows. */
export async function runRows(rows: readonly Row[], folder: string, options: RowOptions): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for (const [kind, members] of Map.groupBy(rows, ({ place }) => place ?? 'one_broker')) {
    const dataDir = `${folder}/${kind}`;
    const place = await openPlace(kind, dataDir, options.say);
    if (typeof place === 'string') {
      for (const { name } of members) options.say(`${name}: SKIPPED: ${place}`);
      continue;
    }
    try {
      for (const row of members) {
        const result = await runOne(place.world, row, options);
        if (result.problems.length > 0) options.onFailed?.(row.name, `${dataDir}/log`);
        results.push(result);
      }
    } finally {
      await place.close();
    }
  }
  return results;
}

async function runOne(world: World, row: Row, options: RowOptions): Promise<RowResult> {
  const result = await runRow(world, row, options);
  const took = `${(result.tookMs / 1_000).toFixed(1)} s`;
  options.say(`${result.name}: ${result.problems.length === 0 ? 'held' : 'FAILED'} in ${took}`);
  for (const problem of result.problems) options.say(`  ${problem}`);
  return result;
}
