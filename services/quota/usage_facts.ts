import { followTopic } from '#infra/kafka/reader/follow_topic.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { type AccountMonth, isSameLog, type SettledUsage } from '#pipelines/quota/settle.ts';
import type { QuotaUsage } from '#schemas/records.ts';

/** What is known to be settled of one partition, by account and month. */
export type KnownUsage = Map<string, AccountMonth & SettledUsage>;

/** What was published last, by partition of events.raw. */
export type UsageFacts = ReadonlyMap<number, KnownUsage>;

export function nameOfMonth({ accountId, month }: AccountMonth): string {
  return `${accountId} ${month}`;
}

/**
 * Reads quota.usage to its end. The newest fact of an account's month and partition counts; closed months are left out.
 *
 * A caller that comes while it is being read gets the reading after that: what was published before the call is in it.
 */
export function createUsageReader(options: {
  session: KafkaSession;
  codec: Codec<QuotaUsage>;
  logger: Logger;
  isClosed(month: string): boolean;
  onFatal(error: unknown): void;
}): () => Promise<UsageFacts> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<UsageFacts> | null = null;
  return () => {
    next ??= running.then(() => {
      const reading = readUsage(options);
      next = null;
      running = reading.catch(() => undefined);
      return reading;
    });
    return next;
  };
}

async function readUsage({
  session,
  codec,
  logger,
  isClosed,
  onFatal,
}: Parameters<typeof createUsageReader>[0]): Promise<UsageFacts> {
  const facts = new Map<number, KnownUsage>();
  const following = await followTopic({
    kafka: session.kafka,
    topic: TOPICS.usage,
    groupPrefix: session.config.prefix,
    onFatal,
    async onRecord(key, value) {
      if (value === null) return;
      const decoded = await codec.decode(value);
      if (!decoded.ok) logger.error({ key, reason: decoded.reason }, 'usage left out');
      else if (!isClosed(decoded.value.month)) keep(facts, decoded.value);
    },
  });
  await following.stop();
  return facts;
}

function keep(facts: Map<number, KnownUsage>, fact: QuotaUsage): void {
  const known = facts.get(fact.partition) ?? new Map();
  facts.set(fact.partition, known);
  const one = {
    accountId: fact.account_id,
    month: fact.month,
    used: fact.used,
    settledOffset: fact.settled_offset,
    log: fact.log,
  };
  const name = nameOfMonth(one);
  const before = known.get(name);
  // Of another events.raw the later fact is the newer one, whatever its offset.
  const isNewer = before === undefined || !isSameLog(before.log, one.log) || before.settledOffset < one.settledOffset;
  if (isNewer) known.set(name, one);
}
