import { createWarehouse, type Warehouse, WarehouseError } from './client.ts';

/** Whether ClickHouse answers, asked every few seconds. */
export interface WarehouseProbe {
  isAlive(): boolean;
  /**
   * Resolves to the answer of a request to ClickHouse, or throws as soon as ClickHouse has stopped answering: a server that
   * hangs keeps its connections open, and the request would wait until the client's own timeout.
   *
   * @throws WarehouseError if it has
   */
  guard<T>(ask: () => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

const INTERVAL_MS = 2_000;
/** Far above what a busy server takes to answer a ping. */
const ANSWER_MS_MAX = 5_000;

/** Watches the ClickHouse server at an address, through a connection that no query uses. */
export function watchWarehouse(clickhouseUrl: string): WarehouseProbe {
  const warehouse = createWarehouse(clickhouseUrl);
  const probe = probeWarehouse(warehouse);
  return {
    ...probe,
    async stop() {
      await probe.stop();
      await warehouse.close();
    },
  };
}

/**
 * Watches a ClickHouse server. It begins as alive, because the first request fails by itself if it is not. The probe needs a
 * client of its own: with a shared one, long queries would take all its connections and make the server seem dead.
 */
export function probeWarehouse(
  warehouse: Pick<Warehouse, 'ping'>,
  intervalMs = INTERVAL_MS,
  answerMsMax = ANSWER_MS_MAX,
): WarehouseProbe {
  let alive = true;
  let asking = false;
  const waiting = new Set<(error: WarehouseError) => void>();

  async function ask(): Promise<void> {
    if (asking) return;
    asking = true;
    const { success } = await warehouse.ping({ select: false, abort_signal: AbortSignal.timeout(answerMsMax) });
    alive = success;
    asking = false;
    if (!alive) for (const reject of waiting) reject(silent());
  }

  const timer = setInterval(() => void ask(), intervalMs);
  return {
    isAlive: () => alive,
    async guard(ask) {
      if (!alive) throw silent();
      const dead = Promise.withResolvers<never>();
      waiting.add(dead.reject);
      try {
        return await Promise.race([ask(), dead.promise]);
      } finally {
        waiting.delete(dead.reject);
      }
    },
    stop: async () => clearInterval(timer),
  };
}

const silent = (): WarehouseError => new WarehouseError('warehouse_unavailable', 'clickhouse: no answer');
