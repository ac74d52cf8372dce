import type { OutRecord } from '#infra/kafka/record.ts';
import { SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { SettledUsage, Settlement } from '#pipelines/quota/settle.ts';
import { partitionOf } from '#schemas/partition.ts';
import type { QuotaUsage } from '#schemas/records.ts';

/** What is published of settlements; the same place for the same account, month and partition. */
export function usageRecords(
  settlements: readonly Settlement[],
  settled: readonly SettledUsage[],
  codec: Codec<QuotaUsage>,
): OutRecord[] {
  return settlements.map((settlement, index) => {
    const { accountId, month, partition, newestMs } = settlement;
    const { used, settledOffset, log } = settled[index] as SettledUsage;
    const key = `${accountId}/${month}/${partition}`;
    const place = { settled_offset: settledOffset, log };
    const fact = { account_id: accountId, month, partition, used, ...place, settled_at: newestMs };
    return { topic: TOPICS.usage, partition: partitionOf(key, SMALL_PARTITIONS), key, value: codec.encode(fact) };
  });
}
