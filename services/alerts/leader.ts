// The leader of alerts: it judges and sends, one process at a time, and what it knows and writes down is behind its fence. What is due
// goes on where it was, whoever was killed.

import { setTimeout as sleep } from 'node:timers/promises';
import { type AlertChanges, type AlertFacts, applyChanges, type FollowedAlerts } from '#infra/alerts/alert_topic.ts';
import { createMutex } from '#infra/concurrency/gates.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import type { Logger } from '#infra/log/logger.ts';
import { isOpen, takenUp } from '#pipelines/alerts/sends.ts';
import type { FiredAlert } from '#schemas/records.ts';
import { type LeaderElection, repeatRounds } from '#services/stage/stage.ts';
import type { Evaluation } from './evaluation.ts';

export interface AlertLog {
  now: Readonly<AlertFacts>;
  /** Writes changes, all or none, one after the other; they are made when it is their turn, of what is known by then. */
  write(changesOf: () => AlertChanges): Promise<void>;
  /** Takes over what others have asked for since: tests, which nobody but they write. */
  takeRequests(): void;
  close(): Promise<void>;
}

type OpenAlertLog = () => Promise<AlertLog>;

/**
 * Opens the log as its one writer: who led before can write nothing any more. What that one had begun to send and wrote no answer
 * of is sent again.
 */
export async function openAlertLog(
  session: KafkaSession,
  topic: Pick<FollowedAlerts, 'all' | 'append' | 'readNow'>,
): Promise<AlertLog> {
  const producer = await openFencedProducer(session.kafka, session.groupOf('alerts.run'));
  const mutex = createMutex();
  try {
    const now = await topic.readNow();
    for (const [name, fired] of now.fired) now.fired.set(name, takenUpAll(fired));
    return {
      now,
      write: (changesOf) =>
        mutex.run(async () => {
          const changes = changesOf();
          await topic.append(producer, changes);
          applyChanges(now, changes);
          failpoint('alerts.step');
        }),
      takeRequests() {
        for (const [name, fired] of topic.all.fired) {
          const isNew = fired.is === 'test' && fired.sends.some(isOpen) && !now.fired.has(name);
          if (isNew) now.fired.set(name, fired);
        }
      },
      close: () => producer.close(),
    };
  } catch (error) {
    await producer.close().catch(() => undefined);
    throw error;
  }
}

const takenUpAll = (fired: FiredAlert): FiredAlert => ({ ...fired, sends: fired.sends.map(takenUp) });

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
