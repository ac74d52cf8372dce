import { createCohortLists } from '#infra/clickhouse/cohort_members.ts';
import { createRateStore } from '#infra/clickhouse/currency_rates.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { tellServers } from '../clickhouse/warehouse_world.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';
import { COHORTS, listedMembers } from './reference/cohorts.ts';
import { WORLD_PAGES } from './reference/pages.ts';
import type { Ledger } from './reference/reference_ledger.ts';
import { RATES } from './reference/revenue.ts';
import { makeUnevenWorld, makeWorld } from './reference/worlds.ts';
import { WORLD_EVENTS, type WorldSeed } from './worlds_config.ts';

export const GENERATORS = { even: makeWorld, uneven: makeUnevenWorld };

/** Makes generated worlds for the tests of one file, their rows left unmerged, so that some stand there twice. */
export function useFilledWorld(): (from: WorldSeed) => Promise<{ world: QueryWorld; ledger: Ledger }> {
  const create = useQueryWorld();
  return async ({ kind, seed }) => {
    const { ledger, blocks, links } = GENERATORS[kind](seed, WORLD_EVENTS);
    const world = await create();
    await tellServers(world.database, 'SYSTEM STOP MERGES', 'event_rows');
    // Of some worlds some rows were looked at for repeats when the others came.
    const looked = kind === 'uneven' || seed % 2 === 1 ? Math.ceil(blocks.length / 2) : 0;
    await world.store(blocks.slice(0, looked));
    if (looked > 0) await checkDuplicates(world.database.warehouse, world.database.cluster);
    await world.store(blocks.slice(looked));
    await world.link(links);
    if (kind === 'uneven') await world.setPages(WORLD_PAGES);
    for (const body of COHORTS) await world.control.call('POST', 'sites/shop/cohorts', { body });
    const listed = world.control.journal
      .view()
      .table.cohorts('shop')
      .find(({ id }) => id === 'listed');
    const lists = createCohortLists(world.database.warehouse, world.database.cluster);
    await lists.add('shop', listed?.list ?? '', listedMembers(ledger, links));
    await createRateStore(world.database.warehouse).write('EUR', RATES);
    return { world, ledger };
  };
}
