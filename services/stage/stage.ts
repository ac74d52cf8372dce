// Runs a consumer group as a process, with its lag in the metrics.
import type { Environment } from '#infra/config/environment.ts';
import type { ProcessConfig } from '#infra/config/service_config.ts';
import type { ConsumeOptions, Consumption } from '#infra/kafka/consumer/consumption.ts';
import { watchLag } from '#infra/kafka/consumer/lag_watch.ts';
import { type Runtime, runProcess } from './runtime.ts';

/**
 * Runs a stage as a process, configured by what `read` makes of the environment. `start` opens what the stage needs and
 * resolves to the consumption it has begun, which goes on until the process stops. The stage's name is the process's, and its consumer group's behind the prefix.
 */
export function runStage<C extends ProcessConfig>(
  name: string | ((config: C) => string),
  read: (env: Environment) => C,
  start: (runtime: Runtime, config: C) => Promise<Consumption>,
): void {
  runProcess(name, read, async (runtime, config) => {
    const consumption = await start(runtime, config);
    runtime.onStop(() => consumption.stop());
    showLag(runtime, runtime.stage, consumption);
    runtime.ready();
  });
}

/** What every stage tells its consumer. Partitions of events are worked on side by side. */
export function consumerOptions({
  stage,
  session,
  metrics,
  logger,
  fatal,
}: Runtime): Pick<
  ConsumeOptions,
  'kafka' | 'groupId' | 'sessionTimeoutMs' | 'watchdogMs' | 'concurrency' | 'logger' | 'onSkipped' | 'onFatal'
> {
  const { eventPartitions, sessionTimeoutMs, watchdogMs } = session.config;
  return {
    kafka: session.kafka,
    groupId: session.groupOf(stage),
    sessionTimeoutMs,
    watchdogMs,
    concurrency: eventPartitions,
    logger,
    onSkipped: metrics.skipped,
    onFatal: fatal,
  };
}

/** Shows the lag of what a process consumes in its metrics, until it stops. */
function showLag(runtime: Runtime, stage: string, consumption: Pick<Consumption, 'assigned'>): void {
  const { session, metrics, logger } = runtime;
  const stop = watchLag({
    admin: session.admin,
    groupId: session.groupOf(stage),
    assigned: consumption.assigned,
    onLags: metrics.lags,
    logger,
  });
  runtime.onStop(async () => stop());
}
