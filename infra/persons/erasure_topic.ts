// Erasures as their topic says: who follows it drops events of persons who were erased.

import type { KafkaSession } from '#infra/kafka/client.ts';
import { followTopic } from '#infra/kafka/follow_topic.ts';
import { readTopic } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { createSuppressionList } from '#pipelines/erasure/suppression.ts';
import type { Erasure } from '#schemas/records.ts';

export type FollowedErasures = Awaited<ReturnType<typeof followErasures>>;

/**
 * Follows person.erasures. Resolves when everything written so far is applied. What a newer version wrote is waited for: left out,
 * it would let events of erased persons pass.
 *
 * @param secret By which identifiers are joined.
 */
export async function followErasures(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
  secret: Buffer,
) {
  const codec = await createCodec<Erasure>(registry, TOPICS.erasures, 'erasure');
  const list = createSuppressionList(secret);
  const all = new Map<string, Erasure>();

  async function apply(key: string, value: Buffer | null, into: Map<string, Erasure>): Promise<boolean> {
    if (value === null) {
      into.delete(key);
      return true;
    }
    const decoded = await codec.decode(value);
    if (decoded.ok) into.set(key, decoded.value);
    else logger.error({ key, reason: decoded.reason }, 'skipping invalid erasure record');
    return decoded.ok;
  }

  const following = await followTopic({
    kafka: session.kafka,
    topic: TOPICS.erasures,
    groupPrefix: session.config.prefix,
    onFatal,
    async onRecord(key, value) {
      if (await apply(key, value, all)) list.apply(key, all.get(key) ?? null);
    },
  });
  return {
    list,
    codec,
    /** By their ids; kept current. */
    all: all as ReadonlyMap<string, Erasure>,
    /** What the topic holds at this moment, to its very end, by their ids. */
    async readNow(): Promise<Map<string, Erasure>> {
      const found = new Map<string, Erasure>();
      await readTopic(session, TOPICS.erasures, async ({ key, value }) => {
        await apply(key?.toString('utf8') ?? '', value, found);
      });
      return found;
    },
    stop: () => following.stop(),
  };
}
