import type { ConsumeOptions, Consumption } from '#infra/kafka/consumer/consume.ts';
import { showLag } from './lag.ts';
import { type Runtime, runProcess } from './runtime.ts';

/**
 * Runs a stage as a process: `start` opens what the stage needs and answers the consumption it has begun, which goes on until
 * the process stops. The stage's name is the process's, and its consumer group's behind the prefix.
 */
export function runStage(name: string, start: (runtime: Runtime) => Promise<Consumption>): void {
  runProcess(name, async (runtime) => {
    const consumption = await start(runtime);
    runtime.onStop(() => consumption.stop());
    showLag(runtime, name, consumption);
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
