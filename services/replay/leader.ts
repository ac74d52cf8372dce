import { consume } from '#infra/kafka/consumer/consume.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';

export interface Leaders {
  /** Whether this is the one of all replay processes that carries replays out. */
  isLeader(): boolean;
  stop(): Promise<void>;
}

/**
 * Joins those that may lead. The group gives the one partition of delivery.replays to one of its members; that one
 * leads. What an earlier leader has under way is fenced when a replay is taken up, so that it need not know it lost.
 */
export async function joinLeaders(
  session: KafkaSession,
  logger: Logger,
  onFatal: (error: unknown) => void,
): Promise<Leaders> {
  const consumption = await consume({
    kafka: session.kafka,
    groupId: session.groupOf('replay'),
    topics: [TOPICS.replays],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: 1,
    // The records are read elsewhere: only to whom the partition belongs counts.
    handlers: { acquire: async () => null, process: async () => undefined },
    logger,
    onFatal,
  });
  return { isLeader: () => consumption.assigned().length > 0, stop: () => consumption.stop() };
}
