import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { watchLag } from '#infra/kafka/consumer/lag_watch.ts';
import type { Runtime } from './runtime.ts';

/** Shows the lag of what a process consumes in its metrics, until it stops. */
export function showLag(runtime: Runtime, stage: string, consumption: Pick<Consumption, 'assigned'>): void {
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
