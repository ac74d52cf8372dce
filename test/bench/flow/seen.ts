import { setTimeout as sleep } from 'node:timers/promises';
import { select } from '#test/harness/clickhouse.ts';

const POLL_MS = 250;
/** An event's time is given by the sender a little before it is looked for. */
const EARLIER_MS = 1_000;

export interface Watch {
  /** By the id of each event that can be queried, when it was first found (performance.now). */
  seen: Map<string, number>;
  stop(): Promise<void>;
}

export interface Watched {
  site: string;
  event: string;
  /** By its id when each event was sent (performance.now); may grow. */
  probes: ReadonlyMap<string, number>;
}

/**
 * Asks ClickHouse four times a second, as an analyst would, for the events of a name that were not found yet; each is found
 * up to a quarter of a second late. Each question takes CPU from what is measured: it is not asked more often, and only
 * for the time from the oldest of them on.
 */
export function watchEvents(clickhouse: string, { site, event, probes }: Watched): Watch {
  const seen = new Map<string, number>();
  let stopped = false;
  const query =
    'SELECT event_id FROM events WHERE site_id = {site:String} AND event = {event:String} AND timestamp > fromUnixTimestamp64Milli({since:Int64})';
  async function look(): Promise<void> {
    const missing = [...probes].filter(([id]) => !seen.has(id));
    if (missing.length === 0) return;
    const oldestMs = Math.min(...missing.map(([, sentMs]) => sentMs));
    const since = Math.floor(performance.timeOrigin + oldestMs - EARLIER_MS);
    const rows = await select<{ event_id: string }>(clickhouse, query, { site, event, since });
    const nowMs = performance.now();
    for (const { event_id } of rows) if (!seen.has(event_id)) seen.set(event_id, nowMs);
  }
  async function watch(): Promise<void> {
    while (!stopped) {
      await look();
      await sleep(POLL_MS);
    }
  }
  const watching = watch();
  return {
    seen,
    async stop() {
      stopped = true;
      await watching;
    },
  };
}

/** Parts written so far by table: each one that an insert makes has the table's next block number, which merges keep. */
export async function partsMade(clickhouse: string): Promise<Map<string, number>> {
  const rows = await select<{ table: string; parts: number }>(
    clickhouse,
    `SELECT table, toUInt32(max(max_block_number)) AS parts FROM system.parts WHERE database = currentDatabase() GROUP BY table ORDER BY table`,
  );
  return new Map(rows.map(({ table, parts }) => [table, parts]));
}
