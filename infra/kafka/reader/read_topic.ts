import type { InRecord } from '#infra/kafka/record.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { readBack } from './read_back.ts';

/**
 * Reads the committed records that a topic holds now with the clients of a session, one after the other.
 * Throws what `onRecord` throws.
 *
 * @param from The first offset of each partition that is read; without it all are, from their beginning.
 */
export function readTopic(
  { kafka, admin, config }: KafkaSession,
  topic: string,
  onRecord: (record: InRecord, partition: number) => Promise<void> | void,
  from?: ReadonlyMap<number, number>,
): Promise<void> {
  return readBack({
    ...{ kafka, admin, topic, groupPrefix: config.prefix, sinceMs: null },
    ...(from === undefined ? {} : { from }),
    onProgress: () => undefined,
    async onRecords(records, partition) {
      for (const record of records) await onRecord(record, partition);
    },
  });
}
