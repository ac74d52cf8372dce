import type { Row } from './row.ts';
import { type RowOptions, type RowResult, runRow } from './run_row.ts';
import type { World } from './world/fault_world.ts';
import { isCommon } from './world/layout.ts';
import { openPlace, type PlaceOptions } from './world/places.ts';

/** Runs rows in the world each needs; a world is started once for all its rows. */
export async function runRows(
  rows: readonly Row[],
  folder: string,
  options: RowOptions & PlaceOptions,
): Promise<RowResult[]> {
  const { layout } = options;
  const results: RowResult[] = [];
  const skip = ({ name }: Row, why: string): void => options.say(`${name}: SKIPPED: ${why}`);
  const apart = { redis: layout.redisCluster, clickhouse: layout.shards };
  const [here, elsewhere] = [false, true].map((isApart) =>
    rows.filter(({ single }) => (single !== undefined && apart[single]) === isApart),
  ) as [Row[], Row[]];
  for (const row of elsewhere) skip(row, `${row.single} is a cluster here`);
  for (const [kind, members] of Map.groupBy(here, ({ place }) => (isCommon(place, layout) ? undefined : place))) {
    const dataDir = `${folder}/${kind ?? 'common'}`;
    const place = await openPlace(kind, dataDir, options);
    if (typeof place === 'string') {
      for (const row of members) skip(row, place);
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
