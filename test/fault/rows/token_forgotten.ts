import type { Row } from '../row.ts';
import type { World } from '../world/fault_world.ts';
import { runStatement } from '../world/statement.ts';

const CALM_REQUESTS_PER_SECOND = 15;
/** Blocks whose tokens a table keeps meanwhile, of several months. */
const KEPT = 4;
const TABLES = { event_rows: 'timestamp', delivery_outcomes: 'attempted_at' } as const;

/**
 * The warehouse dies between an insert and its commit and stays away until the tables have forgotten the block's token:
 * what it takes up then is in already, and nothing but a look at the rows says so.
 */
export const TOKEN_FORGOTTEN: Row = {
  name: 'clickhouse.token_forgotten',
  single: 'clickhouse',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 4);
    await keepTokens(world, KEPT);
    for (let round = 1; round <= ROUNDS; round++) {
      const deaths = world.fleet.deaths('warehouse');
      await world.fleet.arm('warehouse', 'sink.after_insert', round);
      await world.fleet.died('warehouse', deaths + 1);
      await world.fleet.stop('warehouse');
      await insertOthers(world, round);
      world.fleet.launch('warehouse');
      await world.fleet.allReady();
      await untilSent(ledger.size() + events / 8);
    }
  },
  /** Not sooner: a token that was forgotten is not known again when more are kept. */
  after: ({ world }) => keepTokens(world, KEPT_OTHERWISE),
};

const ROUNDS = 3;
/** As the migrations have it. */
const KEPT_OTHERWISE = 10_000;

async function keepTokens(world: World, blocks: number): Promise<void> {
  for (const table of Object.keys(TABLES)) {
    await runStatement(world, `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${blocks}`);
  }
}

/** Blocks of a site that nobody asks about. */
async function insertOthers(world: World, round: number): Promise<void> {
  for (const [table, time] of Object.entries(TABLES)) {
    for (let block = 0; block <= KEPT; block++) {
      const settings = `insert_deduplication_token = 'other/${round}/${block}'`;
      await runStatement(
        world,
        `INSERT INTO ${table} (site_id, ${time}) SETTINGS ${settings} VALUES ('elsewhere', now64(3))`,
      );
    }
  }
}
