// Restores counters that Redis lost, and releases reservations of edges that are gone.
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { openMonths } from '#pipelines/quota/month.ts';
import { type AccountMonth, createLostLeases, type QuotaStore } from '#pipelines/quota/settle.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Runtime } from '#services/stage/runtime.ts';
import type { Partitions } from './partitions.ts';
import type { QuotaMetrics } from './settlement.ts';

interface UsageUpkeepOptions {
  store: QuotaStore;
  settings: Pick<SettingsTable, 'accounts'>;
  partitions: Pick<Partitions, 'check'>;
  consumption: Pick<Consumption, 'assigned'>;
  metrics: QuotaMetrics;
}

const CHECK_MS = 1_000;

/**
 * Looks every second, until the process stops, for counters that Redis lost, which it restores from quota.usage, and for
 * leases of dead edges, whose reservations it releases. Resolves when it has looked once.
 */
export async function startUsageUpkeep(runtime: Runtime, options: UsageUpkeepOptions): Promise<void> {
  const { session, logger, onStop } = runtime;
  const { store, settings, partitions, consumption, metrics } = options;
  const stop = await watchReservationLeases({
    store,
    rawEnds: async () => {
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      return new Map(
        ends.map(({ partition, low, high }) => [partition, Number(high) > Number(low) ? Number(high) : 0]),
      );
    },
    months: (): AccountMonth[] =>
      settings
        .accounts()
        .flatMap(({ account_id }) => openMonths(Date.now()).map((month) => ({ accountId: account_id, month }))),
    onGivenBack: (events) => metrics.released('never_arrived', events),
    check: () => partitions.check(consumption.assigned().map(({ partition }) => partition)),
    everyMs: CHECK_MS,
    logger,
  });
  onStop(stop);
}

interface LeaseWatchOptions {
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
async function watchReservationLeases(options: LeaseWatchOptions): Promise<() => Promise<void>> {
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
