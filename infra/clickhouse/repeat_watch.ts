import type { Logger } from '#infra/log/logger.ts';
import { checkRepeats, msSinceCheck, type RepeatCheck } from './check_repeats.ts';
import type { Warehouse } from './client.ts';

/** Told what a look found, and how long it took, for metrics. */
type RepeatReport = (check: RepeatCheck, seconds: number) => void;

export interface RepeatWatchOptions {
  warehouse: Warehouse;
  cluster: string | null;
  /** Between two looks, at the least. */
  pauseMs: number;
  report: RepeatReport;
  logger: Pick<Logger, 'warn'>;
  nowMs(): number;
}

/** Between two looks so many times what the last one took. */
const PAUSES = 20;

/**
 * Looks every now and then which new events stand in the table more than once, until it is stopped. Of several processes the
 * one looks that comes first. A failure is told and tried again.
 */
export function watchRepeats(options: RepeatWatchOptions): { stop(): void } {
  const { warehouse, cluster, report, logger, nowMs } = options;
  let isStopped = false;
  let pauseMs = options.pauseMs;
  let timer: NodeJS.Timeout;

  async function look(): Promise<void> {
    if ((await msSinceCheck(warehouse)) < pauseMs / 2) return;
    const fromMs = nowMs();
    const check = await checkRepeats(warehouse, cluster);
    const tookMs = nowMs() - fromMs;
    pauseMs = Math.max(options.pauseMs, PAUSES * tookMs);
    report(check, tookMs / 1000);
    if (check.repeated > 0) logger.warn({ events: check.repeated }, 'events stand in event_rows more than once');
  }

  const wait = (): void => {
    if (!isStopped) timer = setTimeout(() => void look().catch(tell).finally(wait), pauseMs);
  };
  const tell = (error: unknown): void => {
    if (!isStopped) logger.warn({ err: error }, 'rows not looked at for repeats');
  };
  wait();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
