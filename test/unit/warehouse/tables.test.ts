import { expect, test } from 'vitest';
import { NO_PLACES } from '#infra/clickhouse/inserts/visitor_columns.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { createTables } from '#services/warehouse/tables.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';

const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };
const nobody = {
  isErasedPerson: () => false,
  isErasedSite: () => false,
  kept: <T>(all: readonly T[]): readonly T[] => all,
};

test('rows of a site that is erased are dropped and counted, those of others are not', async () => {
  const dropped: [string, number][] = [];
  const erased = { ...nobody, isErasedSite: (siteId: string) => siteId === 'gone' };
  const tables = await createTables(
    registry,
    testPhoneHmac,
    erased,
    (reason, count) => void dropped.push([reason, count]),
    NO_PLACES,
  );
  const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  const link = { kind: 'person', person_id: 'p', target: 'q', first_seen: 1, version: 1 } as const;
  const rowsOf = async (site_id: string): Promise<number> => {
    const read = await tables.rowsOf(TOPICS.links, links.encode({ ...link, site_id }));
    return read.ok ? read.value.rows.length : -1;
  };
  expect([await rowsOf('gone'), await rowsOf('stays'), dropped]).toEqual([0, 1, [['erased', 1]]]);
});

test('a record without a value is a tombstone on a compacted topic, and cannot be read on any other', async () => {
  const tables = await createTables(registry, testPhoneHmac, nobody, () => undefined, NO_PLACES);
  const read = await Promise.all(
    tables.topics.map(async (topic) => [topic, (await tables.rowsOf(topic, null)).ok] as const),
  );
  expect(read.flatMap(([topic, ok]) => (ok ? [topic] : [])).sort()).toEqual([TOPICS.links, TOPICS.usage]);
  expect(await tables.rowsOf(TOPICS.inventory, null)).toEqual({ ok: false, reason: 'wire_null' });
});
