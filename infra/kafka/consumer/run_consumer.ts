import type { Consumer, ConsumerRunConfig } from 'kafkajs';

/**
 * Crashes that end with the cluster's trouble. The client starts itself again after some of them; others it calls
 * final, such as a coordinator not found because the connection broke while it was asked for.
 */
const PASSING_NAMES = new Set([
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSBrokerNotFound',
  'KafkaJSRequestTimeoutError',
  'KafkaJSNumberOfRetriesExceeded',
]);

/** Before a consumer that crashed is run again. */
export const PAUSE_MS = 1_000;
/** Crashes one after the other, without a joining of the group between them, that are taken for passing. */
const CRASHES_MAX = 60;

/** Retries inside a running consumer: joining a group whose coordinator is only just starting takes seconds. */
export const CONSUMER_RETRY = { initialRetryTime: 50, retries: 12 };

/** Whether a crash is one that ends with the cluster's trouble, by its first cause. */
export function passes(error: Error): boolean {
  const { cause, retriable } = error as Error & { retriable?: unknown };
  if (PASSING_NAMES.has(error.name)) return true;
  return cause instanceof Error ? passes(cause) : retriable === true;
}

export interface ConsumerRun {
  stop(): Promise<void>;
}

/**
 * Runs a subscribed consumer, and runs it again after a crash that passes. `onFatal` is called for any other crash, and
 * when it has crashed too often without joining its group.
 */
export async function runConsumer(
  consumer: Consumer,
  config: ConsumerRunConfig,
  onFatal: (error: unknown) => void,
): Promise<ConsumerRun> {
  let crashes = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  consumer.on(consumer.events.GROUP_JOIN, () => {
    crashes = 0;
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || stopped) return;
    crashes++;
    if (!passes(payload.error) || crashes > CRASHES_MAX) onFatal(payload.error);
    else timer = setTimeout(() => void consumer.run(config).catch(onFatal), PAUSE_MS);
  });
  await consumer.run(config);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await consumer.disconnect();
    },
  };
}
