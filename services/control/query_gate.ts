import { QueryCancelledError } from '#infra/clickhouse/select_rows.ts';
import { createFairGate, GateBusyError } from '#infra/concurrency/fair_gate.ts';

/** No query may begin soon: as many run, or wait, as may. */
export class QueryBusyError extends Error {
  readonly code = 'query_busy';
}

/** Lets queries through to ClickHouse, and none of one site before those of others that have fewer. */
export interface QueryGate {
  /** @throws QueryBusyError, QueryCancelledError where the signal ended the waiting, and what `ask` throws */
  pass<T>(siteId: string, signal: AbortSignal, ask: () => Promise<T>): Promise<T>;
}

export interface QueryGateLimits {
  atOnce: number;
  siteAtOnce: number;
}

/** A request has 30 seconds, of which a query may take 20. */
const WAITING_MS_MAX = 8_000;
/** Of one site; a board has up to 50 questions. */
const WAITING_MAX = 60;

export function createQueryGate({ atOnce, siteAtOnce }: QueryGateLimits, waitingMsMax = WAITING_MS_MAX): QueryGate {
  const gate = createFairGate({ atOnce, groupAtOnce: siteAtOnce, waitingMax: WAITING_MAX });
  return {
    async pass(siteId, signal, ask) {
      const tooLong = AbortSignal.timeout(waitingMsMax);
      const leave = await gate.enter(siteId, AbortSignal.any([signal, tooLong])).catch((error: unknown) => {
        if (signal.aborted) throw new QueryCancelledError();
        throw error instanceof GateBusyError || tooLong.aborted ? new QueryBusyError() : error;
      });
      try {
        return await ask();
      } finally {
        leave();
      }
    },
  };
}
