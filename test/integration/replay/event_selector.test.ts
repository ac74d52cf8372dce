import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { queryLedger } from '#infra/clickhouse/delivery_ledger.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { createSuppressionList } from '#pipelines/erasure/suppression.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { Destination, Replay } from '#schemas/setting.ts';
import { createEventSelector, type SelectorContext } from '#services/redelivery/event_selector.ts';
import type { Source } from '#services/redelivery/replay_source.ts';
import { type Database, useClickhouse } from '#test/integration/clickhouse/warehouse_world.ts';

const TEST_MS = 60_000;
const SECOND_MS = 1_000;
const BEGIN_MS = Date.UTC(2026, 10, 1);
const clickhouse = useClickhouse();

/** A ClickHouse whose questions are counted, and refused where they read more rows than this. */
function watched({ warehouse }: Database, rowsMax = 0) {
  const facts = { asked: 0 };
  const query: Database['warehouse']['query'] = (question) => {
    facts.asked++;
    const settings = { ...question.clickhouse_settings, max_rows_to_read: String(rowsMax) };
    return warehouse.query({ ...question, clickhouse_settings: settings });
  };
  return { facts, warehouse: { query } as Database['warehouse'] };
}

test('what was delivered since is not read to know of a few events', { timeout: TEST_MS }, async () => {
  const database = await clickhouse.migrated();
  await database.warehouse.command({
    query: `
      INSERT INTO delivery_outcomes
        (site_id, destination, event_id, event, coordinate_partition, coordinate_offset, coordinate_index, outcome, reason,
         attempt, received_at, attempted_at, took_ms)
      SELECT 'shop', 'meta', toString(number), 'purchase', 0, number, 0, 'delivered', '', 1,
        fromUnixTimestamp64Milli({begin:Int64} + number * 1000), fromUnixTimestamp64Milli({begin:Int64} + number * 1000 + 2000), 40
      FROM numbers(200000)`,
    query_params: { begin: BEGIN_MS },
  });
  const places = [100, 101, 102].map((offset) => ({ partition: 0, offset, index: 0 }));
  const arrived = { firstMs: BEGIN_MS + 100 * SECOND_MS, lastMs: BEGIN_MS + 102 * SECOND_MS };
  const { warehouse } = watched(database, 30_000);
  const found = await queryLedger(warehouse, { destination: 'meta', siteIds: ['shop'], arrived, places });
  const inOrder = found.toSorted((one, other) => one.offset - other.offset);
  expect(inOrder.map(({ offset, latest }) => `${offset} ${latest}`)).toEqual([
    '100 delivered',
    '101 delivered',
    '102 delivered',
  ]);
});

const REPLAY: Replay = {
  ...{ replay_id: 'r1', destination: 'meta', site_id: null, source: 'events', from: BEGIN_MS, to: BEGIN_MS + 1 },
  ...{ rate: 100, dry_run: false, force: false, wanted: 'running', created_at: BEGIN_MS, created_by: null },
};

/** Records of one event each, of the two sites in turn. */
function recordsOf(count: number): { records: InRecord[]; source: Source } {
  const records = Array.from(
    { length: count },
    (_, offset): InRecord => ({
      ...{ offset, key: null, value: Buffer.from(String(offset)), timestampMs: BEGIN_MS, headers: {} },
    }),
  );
  const viewOf = (offset: number): EncodedEvent => ({
    ...{
      coordinate: { partition: 0, offset, index: 0 },
      siteId: offset % 2 === 0 ? 'even' : 'odd',
      eventId: `e${offset}`,
    },
    ...{ distinctId: 'v', receivedAtMs: BEGIN_MS, personBytes: Buffer.alloc(0), eventBytes: Buffer.alloc(0) },
  });
  const source: Source = {
    ...{ topic: 'events', sharedWithDelivery: true, repeats: false },
    read: async ({ offset }) => ({ views: [viewOf(offset)], unreadable: false }),
  };
  return { records, source };
}

/** Of each pair of a site's events the first was delivered. */
async function deliverHalf(database: Database, count: number): Promise<void> {
  const offsets = Array.from({ length: count }, (_, offset) => offset).filter((offset) => offset % 4 < 2);
  const rows = offsets.map((offset) => ({
    ...{ site_id: offset % 2 === 0 ? 'even' : 'odd', destination: 'meta', event_id: `e${offset}`, event: 'purchase' },
    ...{ coordinate_partition: 0, coordinate_offset: offset, coordinate_index: 0, outcome: 'delivered', reason: '' },
    ...{ attempt: 1, received_at: BEGIN_MS, attempted_at: BEGIN_MS + SECOND_MS, took_ms: 40 },
  }));
  await insertBlock(database.warehouse, 'delivery_outcomes', 'half', rows);
}

test('what is ahead of a slice is asked for with it, and once', { timeout: TEST_MS }, async () => {
  const database = await clickhouse.migrated();
  await deliverHalf(database, 40);
  const { records, source } = recordsOf(40);
  const { facts, warehouse } = watched(database);
  const enabled = new Set(['even']);
  const context: SelectorContext = {
    suppressed: createSuppressionList(Buffer.alloc(32)),
    table: {
      destination: (site) => (enabled.has(site) ? ({ enabled: true, created_at: 0 } as Destination) : undefined),
    },
    warehouse,
  };
  const select = createEventSelector(context, REPLAY, source);
  const chosen: number[] = [];
  const take = async (from: number): Promise<void> => {
    const slice = { partition: 0, records: records.slice(from, from + 10), ahead: records.slice(from + 10) };
    const selection = await select(slice, from);
    expect(selection.next).toBe(from + 10);
    chosen.push(...selection.chosen.map(({ coordinate }) => coordinate?.offset ?? -1));
  };
  await take(0);
  await take(10);
  expect(facts.asked).toBe(1);
  // The other site's events were not asked for: what was delivered of them must not be taken for open.
  enabled.add('odd');
  await take(20);
  expect(facts.asked).toBe(2);
  await take(30);
  expect(facts.asked).toBe(2);
  expect(chosen).toEqual([2, 6, 10, 14, 18, 22, 23, 26, 27, 30, 31, 34, 35, 38, 39]);
});
