import type { KafkaSession } from '#infra/kafka/client.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Runtime } from './runtime.ts';

/** Whether this process leads. */
export interface LeaderElection {
  isLeader(): boolean;
  stop(): Promise<void>;
}

/**
 * Joins those that may lead, as members of a group. It gives the one partition of a topic to one of them, and that one leads.
 * What an earlier leader has under way must be fenced when it is taken up, so that it need not know it lost.
 *
 * @param group Behind the installation's prefix.
 * @param topic Of one partition. Its records are not read here.
 */
export async function joinLeaderElection(
  { session, logger, fatal }: Pick<Runtime, 'logger' | 'fatal'> & { session: KafkaSession },
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
  return { isLeader: () => consumption.assigned().length > 0, stop: () => consumption.stop() };
}
