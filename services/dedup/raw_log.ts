import type { TopicIds } from '#infra/kafka/reader/topic_ids.ts';
import { TOPICS } from '#infra/kafka/topics.ts';

/** Which events.raw a batch is of. */
export interface RawLog {
  /** The id of the topic; offsets of one that was made anew under its name are others. */
  of(batch: { partition: number; records: readonly { offset: number }[] }): Promise<string>;
}

/** Asks again where a partition's offsets do not go on, as those of a topic that was made anew do not. */
export function createRawLog(ids: Pick<TopicIds, 'of'>): RawLog {
  const seen = new Map<number, { log: string; offset: number }>();
  return {
    async of({ partition, records }) {
      const [first, last] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0];
      const before = seen.get(partition);
      const goesOn = before !== undefined && before.offset < first;
      const log = goesOn ? before.log : await ids.of(TOPICS.raw);
      seen.set(partition, { log, offset: last });
      return log;
    },
  };
}
