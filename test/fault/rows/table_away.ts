import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from '../row.ts';
import { runStatement } from '../world/statement.ts';

/** So few that a block has fewer rows than may be bad by themselves. */
const QUIET_REQUESTS_PER_SECOND = 1;
const QUIET_EVENTS = 400;
const AWAY_MS = 60_000;
const TABLES = ['event_rows', 'delivery_outcomes', 'person_links'] as const;

/** Tables are away for a minute, as while they are restored, and come back: what came meanwhile is stored, none of it dead. */
export const TABLE_AWAY: Row = {
  name: 'clickhouse.table_away',
  single: 'clickhouse',
  events: QUIET_EVENTS,
  requestsPerSecond: QUIET_REQUESTS_PER_SECOND,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 4);
    for (const table of TABLES) await runStatement(world, `DETACH TABLE ${table}`);
    await sleep(AWAY_MS);
    for (const table of TABLES) await runStatement(world, `ATTACH TABLE ${table}`);
    await untilSent(ledger.size() + events / 8);
  },
};
