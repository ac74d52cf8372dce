import type { Consumer } from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';

const TICK_MS = 5_000;
/** Two minutes: longer than the client's own timeouts and tries for one step of joining a group. */
const TICKS_MAX = 24;

/**
 * Ends a consumer that neither fetches nor beats, or does so while `isHalted` says that nothing of it is taken: the client
 * has been seen to wait for ever while it joined a group again behind brokers that died one after the other. Time in which
 * the process itself was stalled does not count, so ticks are counted and not the clock. Answers how to stop the watch.
 */
export function watchSilence(
  consumer: Pick<Consumer, 'on' | 'events'>,
  onFatal: (error: unknown) => void,
  isHalted: () => boolean = () => false,
): () => void {
  let silentTicks = 0;
  const heard = (): void => {
    if (!isHalted()) silentTicks = 0;
  };
  consumer.on(consumer.events.FETCH, heard);
  consumer.on(consumer.events.HEARTBEAT, heard);
  consumer.on(consumer.events.GROUP_JOIN, heard);
  const timer = setInterval(() => {
    silentTicks++;
    if (silentTicks === TICKS_MAX) onFatal(new StageFailedError('the consumer of the group is silent'));
  }, TICK_MS);
  return () => clearInterval(timer);
}
