// Runs a consumer group as a process, with its lag in the metrics.
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { Environment } from '#infra/config/environment.ts';
import type { ProcessConfig } from '#infra/config/service_config.ts';
import { StageFailedError } from '#infra/errors.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { createProgressWatch, LAG_INTERVAL_MS, watchLag } from '#infra/kafka/consumer/lag_watch.ts';
import { nameOf } from '#infra/kafka/consumer/partition_state.ts';
import { type Runtime, runProcess } from './runtime.ts';

/**
 * Runs a stage as a process, configured by what `read` makes of the environment. `start` opens what the stage needs and
 * resolves to the consumption it has begun, which goes on until the process stops. The stage's name is the process's, and
 * its consumer group's behind the prefix. A partition that stands still for `KAFKA_WATCHDOG_MS`, though records wait and
 * nothing that the process needs is away, ends the process: its supervisor starts it anew.
 */
export function runStage<C extends ProcessConfig>(
  name: string | ((config: C) => string),
  read: (env: Environment) => C,
  start: (runtime: Runtime, config: C) => Promise<Consumption>,
): void {
  runProcess(name, read, async (runtime, config) => {
    const consumption = await start(runtime, config);
    runtime.onStop(() => consumption.stop());
    const { session, metrics, logger, stage, parts } = runtime;
    const progress = createProgressWatch(Math.ceil(session.config.watchdogMs / LAG_INTERVAL_MS));
    const stopLag = watchLag({
      admin: session.admin,
      groupId: session.groupOf(stage),
      assigned: consumption.assigned,
      progress: consumption.progress,
      onLags(lags) {
        metrics.lags(lags);
        // Of none where Kafka could not be asked.
        const [still] = progress.look(consumption.progress(), lags, lags.length > 0 && parts.waitingFor().length === 0);
        if (still !== undefined)
          runtime.fatal(new StageFailedError(`${nameOf(still)} stands still, though records wait`));
      },
      logger,
      nowMs: monotonicMs,
      wallMs: Date.now,
    });
    runtime.onStop(async () => stopLag());
    runtime.ready();
  });
}

/** What every stage tells its consumer. Partitions of events are worked on side by side. */
export function consumerOptions({ stage, session, metrics, logger, fatal }: Runtime) {
  const { eventPartitions, sessionTimeoutMs, watchdogMs } = session.config;
  return {
    kafka: session.kafka,
    groupId: session.groupOf(stage),
    sessionTimeoutMs,
    watchdogMs,
    concurrency: eventPartitions,
    logger,
    onSkipped: metrics.skipped,
    onSearch: metrics.searching,
    onFatal: fatal,
  };
}

/** Whether this process leads. */
export interface LeaderElection {
  isLeader(): boolean;
  stop(): Promise<void>;
}

type LeaderSession = Pick<KafkaSession, 'kafka' | 'groupOf'> & {
  config: Pick<KafkaSession['config'], 'sessionTimeoutMs'>;
};

/**
 * Joins those that may lead, as members of a group. It gives the one partition of a topic to one of them, and that one leads, as long as
 * its session lasts. What an earlier leader has under way must be fenced when it is taken up, so that it need not know it lost.
 *
 * @param group Behind the installation's prefix.
 * @param topic Of one partition. Its records are not read here.
 */
export async function joinLeaderElection(
  { session, logger, fatal }: Pick<Runtime, 'logger' | 'fatal'> & { session: LeaderSession },
  group: string,
  topic: string,
): Promise<LeaderElection> {
  const consumption = await consume({
    kafka: session.kafka,
    groupId: session.groupOf(group),
    topics: [topic],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: 1,
    handlers: { acquire: async () => null, process: async () => undefined },
    logger,
    onFatal: fatal,
  });
  return {
    isLeader: () => consumption.isMember() && consumption.assigned().length > 0,
    stop: () => consumption.stop(),
  };
}

interface LeaderWork {
  /** One round; whether it is still to be done may change while it goes on. */
  round(leads: () => boolean): Promise<void>;
  pauseMs: number;
  /** After a round that failed, of which `onFailure` is told; what that throws is fatal. */
  retryMs: number;
  onFailure(error: unknown): void;
}

/** Does rounds, one after the other, until it is stopped: the one under way is waited for, before another process may lead. */
export function repeatRounds(
  election: LeaderElection,
  { round, pauseMs, retryMs, onFailure }: LeaderWork,
  onFatal: (error: unknown) => void,
): () => Promise<void> {
  let isStopping = false;
  const leads = (): boolean => !isStopping && election.isLeader();
  async function work(): Promise<void> {
    while (!isStopping) {
      let waitMs = pauseMs;
      try {
        await round(leads);
      } catch (error) {
        onFailure(error);
        waitMs = retryMs;
      }
      await sleep(waitMs);
    }
  }
  const working = work();
  working.catch(onFatal);
  return async () => {
    isStopping = true;
    await working;
    await election.stop();
  };
}
