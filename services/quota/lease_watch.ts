import type { Logger } from '#infra/log/logger.ts';
import { createLostLeases } from '#pipelines/quota/lost_leases.ts';
import type { AccountMonth, QuotaStore } from '#pipelines/quota/settle.ts';

export interface LeaseWatchOptions {
  store: QuotaStore;
  /** Offsets at which the partitions of events.raw end now; 0 where they hold nothing. */
  rawEnds(): Promise<ReadonlyMap<number, number>>;
  /** The months in which something may be held. */
  months(): AccountMonth[];
  onGivenBack(events: number): void;
  /** Puts back what was lost. */
  check(): Promise<void>;
  everyMs: number;
  logger: Logger;
}

/**
 * Restores counters that were lost and releases what dead edges reserved, every `everyMs`. Resolves, to how to stop it, when
 * it has looked once: until the counters are there edges do not know of each other's reservations.
 */
export async function watchReservationLeases(options: LeaseWatchOptions): Promise<() => Promise<void>> {
  const { store, logger } = options;
  const look = createLostLeases({
    deadLeases: () => store.deadLeases(),
    rawEnds: () => options.rawEnds(),
    settled: async () =>
      new Map([...(await store.checkpoints())].map(([partition, checkpoint]) => [partition, checkpoint.nextOffset])),
    async giveBack(lease) {
      const events = await store.giveBack(options.months(), lease);
      await store.forgetLease(lease);
      options.onGivenBack(events);
      logger.info({ lease, events }, 'what a dead edge held was given back');
    },
  });
  let turn: Promise<void> = Promise.resolve();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function once(): Promise<void> {
    try {
      await options.check();
      await look();
    } catch (error) {
      logger.warn({ err: error }, 'counters could not be looked after; trying again');
    }
    if (!isStopped) timer = setTimeout(run, options.everyMs);
  }
  function run(): void {
    turn = once();
  }
  run();
  await turn;
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await turn;
  };
}
