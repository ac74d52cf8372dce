import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';

/** The tables that take no rows for now, for a reason that is no row's. */
export interface TableWaits {
  /** Inserts into a table, and notes whether it waits. */
  watch(table: string, insert: () => Promise<void>): Promise<void>;
  /** How long a table has waited for this reason. */
  waitedMs(table: string, reason: string): number;
  areNone(): boolean;
}

export interface TableWaitsOptions {
  metrics: Pick<Metrics, 'gauge'>;
  logger: Pick<Logger, 'error' | 'info'>;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

/** Says once, loudly, that a table is waited for, and once that it is well. */
export function createTableWaits({ metrics, logger, nowMs }: TableWaitsOptions): TableWaits {
  const waits = new Map<string, { reason: string; sinceMs: number }>();
  const waiting = metrics.gauge('svc_warehouse_waiting', 'Whether a table takes no rows, so that they wait for it', [
    'table',
  ]);
  return {
    async watch(table, insert) {
      try {
        await insert();
        if (!waits.delete(table)) return;
        waiting.set({ table }, 0);
        logger.info({ table }, 'the table takes rows again');
      } catch (error) {
        if (!(error instanceof WarehouseError && error.code === 'warehouse_mismatch')) throw error;
        const reason = error.message;
        if (waits.get(table)?.reason !== reason) {
          waits.set(table, { reason, sinceMs: nowMs() });
          waiting.set({ table }, 1);
          logger.error({ table, reason }, 'the table is not as it must be, its rows wait until it is');
        }
        throw error;
      }
    },
    waitedMs(table, reason) {
      const wait = waits.get(table);
      return wait?.reason === reason ? nowMs() - wait.sinceMs : 0;
    },
    areNone: () => waits.size === 0,
  };
}
