import { followTopic } from '#infra/kafka/reader/follow_topic.ts';
import { readTopic } from '#infra/kafka/reader/read_topic.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';

export interface FollowedReplays {
  /** By replay id; kept current. */
  states: ReadonlyMap<string, ReplayProgress>;
  codec: Codec<ReplayProgress>;
  /** What the topic holds at this moment, to its very end, by replay id. */
  readAllNow(): Promise<ReadonlyMap<string, ReplayProgress>>;
  /** What it holds of one replay. */
  readNow(replayId: string): Promise<ReplayProgress | undefined>;
  stop(): Promise<void>;
}

/** How far each replay is, kept current from delivery.replays. */
export async function followReplays(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
): Promise<FollowedReplays> {
  const codec = await createCodec<ReplayProgress>(registry, TOPICS.replays, 'replay_progress', 'left_out');
  const states = new Map<string, ReplayProgress>();

  async function apply(into: Map<string, ReplayProgress>, key: string, value: Buffer | null): Promise<void> {
    if (value === null) return void into.delete(key);
    const decoded = await codec.decode(value);
    if (decoded.ok) into.set(key, decoded.value);
    else logger.error({ key, reason: decoded.reason }, 'progress of a replay left out');
  }

  const following = await followTopic({
    kafka: session.kafka,
    topic: TOPICS.replays,
    groupPrefix: session.config.prefix,
    onFatal,
    onRecord: (key, value) => apply(states, key, value),
  });
  async function readAllNow(): Promise<Map<string, ReplayProgress>> {
    const found = new Map<string, ReplayProgress>();
    await readTopic(session, TOPICS.replays, ({ key, value }) => apply(found, key?.toString('utf8') ?? '', value));
    return found;
  }
  return {
    states,
    codec,
    readAllNow,
    readNow: async (replayId) => (await readAllNow()).get(replayId),
    stop: () => following.stop(),
  };
}
