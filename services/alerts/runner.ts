// Judges and sends alerts, on one leader at a time: what is due goes on where it was, whoever was killed.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#infra/log/logger.ts';
import { type LeaderElection, repeatRounds } from '#services/stage/stage.ts';
import type { AlertLog, OpenAlertLog } from './alert_log.ts';
import type { Evaluation } from './evaluation.ts';

const TICK_MS = 250;
/** After a failure; most are of a part that is away. */
const RETRY_MS = 3_000;

interface RunnerParts {
  openLog: OpenAlertLog;
  evaluation: Pick<Evaluation, 'step' | 'reset'>;
  /** Resolves to how many were told. */
  sendDue(log: AlertLog): Promise<number>;
  election: LeaderElection;
  logger: Pick<Logger, 'warn'>;
}

/** Runs until it is stopped. What is being sent then is waited for, as its answer would else be lost. */
export function runAlerts(parts: RunnerParts, onFatal: (error: unknown) => void): () => Promise<void> {
  const { openLog, evaluation, sendDue, election, logger } = parts;

  /** Does both side by side: a channel that is slow to answer holds up no figure. Where one of them fails both end. */
  async function lead(leads: () => boolean): Promise<void> {
    const log = await openLog();
    let isOver = false;
    const repeated = async (task: () => Promise<unknown>): Promise<void> => {
      try {
        while (!isOver && leads()) {
          await task();
          await sleep(TICK_MS);
        }
      } finally {
        isOver = true;
      }
    };
    try {
      evaluation.reset();
      const judging = repeated(() => evaluation.step(log));
      const sending = repeated(async () => {
        log.takeRequests();
        while ((await sendDue(log)) > 0 && leads());
      });
      const ended = await Promise.allSettled([judging, sending]);
      for (const one of ended) if (one.status === 'rejected') throw one.reason;
    } finally {
      await log.close();
    }
  }

  const work = {
    round: async (leads: () => boolean): Promise<void> => {
      if (leads()) await lead(leads);
    },
    ...{ pauseMs: TICK_MS, retryMs: RETRY_MS },
    onFailure: (error: unknown): void => logger.warn({ err: error }, 'alerts interrupted, trying again'),
  };
  return repeatRounds(election, work, onFatal);
}
