import type { Consumer } from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';

const TICK_MS = 5_000;
/** Two minutes: longer than the client's own timeouts and tries for one step of joining a group. */
const TICKS_MAX = 24;

/**
 * Ends a process whose consumer neither fetches nor sends heartbeats for two minutes; those it sends while `isHalted` do not
 * count, as nothing of what it fetches is taken then. The client has been seen to wait for ever while it joined a group again
 * after brokers had died one after the other. Time in which the process itself was stalled does not count, so ticks are
 * counted and not the clock. Answers how to stop the watch.
 */
export function watchForStall(
  consumer: Pick<Consumer, 'on' | 'events'>,
  onFatal: (error: unknown) => void,
  isHalted: () => boolean = () => false,
): () => void {
  let stalledTicks = 0;
  const heard = (): void => {
    if (!isHalted()) stalledTicks = 0;
  };
  consumer.on(consumer.events.FETCH, heard);
  consumer.on(consumer.events.HEARTBEAT, heard);
  consumer.on(consumer.events.GROUP_JOIN, heard);
  const timer = setInterval(() => {
    stalledTicks++;
    if (stalledTicks === TICKS_MAX) onFatal(new StageFailedError('the consumer of the group is stalled'));
  }, TICK_MS);
  return () => clearInterval(timer);
}
