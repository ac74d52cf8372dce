import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { isNotForeseen, kindOf } from '#services/poison_pills.ts';
import { batchOf, type DeadLetters } from './dead_letters.ts';
import type { Row, Tables } from './tables.ts';

/**
 * Reads records as rows. A record that cannot be read, and an event that makes no row, become dead letters; what passes by
 * itself, such as a registry that does not answer, is thrown.
 */
export async function createRowReader(
  registry: Registry,
  tables: Pick<Tables, 'rowsOf'>,
  deadLetters: DeadLetters,
): Promise<(topic: string, partition: number, record: InRecord) => Promise<Row[]>> {
  const eventSchemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  return async (topic, partition, record) => {
    const at = { topic, partition, offset: record.offset, index: -1 };
    try {
      const read = await tables.rowsOf(topic, record.value);
      if (!read.ok) {
        await deadLetters.write(at, read.reason, '', record.value);
        return [];
      }
      for (const { view, index, error } of read.value.poisonPills) {
        await deadLetters.write({ ...at, index }, 'transform_failed', kindOf(error), batchOf(eventSchemaId, view));
      }
      return read.value.rows;
    } catch (error) {
      if (!isNotForeseen(error)) throw error;
      await deadLetters.write(at, 'transform_failed', kindOf(error), record.value);
      return [];
    }
  };
}
