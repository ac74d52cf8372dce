import type { Warehouse } from '#infra/clickhouse/client.ts';
import {
  levelOf,
  QUERY_LIMITS,
  SQL_WORKLOAD,
  selectRows,
  type Workload,
  workloadOf,
} from '#infra/clickhouse/queries/select_rows.ts';
import { funnelPlan } from '#pipelines/analytics/funnels/query.ts';
import { funnelStatement } from '#pipelines/analytics/funnels/sql.ts';
import { DAY_MS, FROM, NEIGHBOUR, SITE, sites, TO } from './fill.ts';

const ASKED = 200;
const LIMITS = { ...QUERY_LIMITS, seconds: 300 };
const steps = ['page_view', 'view_item', 'add_to_cart', 'purchase'].map((event) => ({ events: [event] }));
const funnelOf = (siteId: string) =>
  funnelStatement(siteId, funnelPlan({ from: FROM, to: TO, steps, window_ms: 7 * DAY_MS }));

/** Looks at every word of a year of the large site. */
const HEAVY_SQL = {
  sql: `SELECT uniq(arrayJoin(splitByNonAlpha(properties))) AS words FROM event_rows WHERE site_id = '${SITE}'`,
  parameters: {},
};

/** How long the neighbour's funnel takes alone, and beside heavy questions about the other site that never end. */
export async function measureNeighbour(warehouse: Warehouse, say: (line: string) => void): Promise<void> {
  const [large = 0, small = 0] = sites().map(([, events]) => events);
  const own = workloadOf(levelOf(small));
  const heavy = workloadOf(levelOf(large));
  say(`\na funnel of the year of a site of ${small} events, ${ASKED} times; ms`);
  say(`${''.padEnd(44)}${['median', 'p99'].map((head) => head.padStart(11)).join('')}`);
  const cases: [string, () => Promise<() => Promise<void>>][] = [
    ['alone', async () => async () => undefined],
    ['beside a funnel of the large site', () => beside(warehouse, funnelOf(SITE), heavy)],
    ["beside an analyst's SQL", () => beside(warehouse, HEAVY_SQL, SQL_WORKLOAD)],
    ['beside that SQL, which does not give way', () => beside(warehouse, HEAVY_SQL, own)],
    ['alone again', async () => async () => undefined],
  ];
  for (const [name, begin] of cases) {
    const end = await begin();
    const times = await timesOf(warehouse, own);
    await end();
    const [middle = 0, late = 0] = [0.5, 0.99].map((part) => times[Math.floor(part * (times.length - 1))]);
    say(`${name.padEnd(44)}${[middle, late].map((ms) => ms.toFixed(0).padStart(11)).join('')}`);
  }
}

/** Asks one over and over, until what it answers is called. */
async function beside(
  warehouse: Warehouse,
  statement: Parameters<typeof selectRows>[1],
  workload: Workload,
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      await selectRows(warehouse, statement, LIMITS, { workload, signal: stop.signal }).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
    }
  })();
  return async () => {
    stop.abort();
    await asking;
  };
}

async function timesOf(warehouse: Warehouse, workload: Workload): Promise<number[]> {
  const times: number[] = [];
  for (let round = -3; round < ASKED; round++) {
    const begun = performance.now();
    await selectRows(warehouse, funnelOf(NEIGHBOUR), LIMITS, { workload });
    if (round >= 0) times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b);
}
