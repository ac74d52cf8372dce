import { expect, test } from 'vitest';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { createTables } from '#services/warehouse/tables.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';

const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };
const nobody = { isErasedPerson: () => false, kept: <T>(all: readonly T[]): readonly T[] => all };

test('a record without a value is a tombstone on a compacted topic, and cannot be read on any other', async () => {
  const tables = await createTables(registry, testPhoneHmac, nobody, () => undefined);
  const read = await Promise.all(
    tables.topics.map(async (topic) => [topic, (await tables.rowsOf(topic, null)).ok] as const),
  );
  expect(read.flatMap(([topic, ok]) => (ok ? [topic] : [])).sort()).toEqual([TOPICS.links, TOPICS.usage]);
  expect(await tables.rowsOf(TOPICS.inventory, null)).toEqual({ ok: false, reason: 'wire_null' });
});
