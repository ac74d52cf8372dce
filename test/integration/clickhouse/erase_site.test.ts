import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { createSiteEraser, SITE_TABLES } from '#infra/clickhouse/erasure/erase_rows.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const AT_MS = Date.UTC(2026, 9, 5, 12);
const P = (letter: string): string => `p_${letter.repeat(32)}`;

test('rows of a site go from every table that names it, and those of others stay', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  const columns = await rowsOf<{ table: string }>(
    database,
    `SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'site_id'
       AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
  );
  // What is being erased of persons goes with the end of that.
  const named = columns.map(({ table }) => table.replace(/_local$/, '')).filter((table) => table !== 'erasing');
  expect([...SITE_TABLES].sort()).toEqual(named.sort());

  const row = (site_id: string, person_id: string) =>
    eventRow({
      coordinate: { partition: 0, offset: 0, index: 0 },
      person: { person_id, identifiers: null },
      event: sampleEvent({ site_id, event_id: `of-${site_id}`, timestamp: AT_MS, received_at: AT_MS }),
    });
  await insertBlock(warehouse, 'event_rows', 'rows', [row('gone', P('a')), row('stays', P('c'))]);
  const link = (site_id: string, person_id: string, target: string) => ({
    ...{ site_id, person_id, target, first_seen: AT_MS, version: 1 },
  });
  await insertBlock(warehouse, 'person_links', 'links', [
    link('gone', P('b'), P('a')),
    link('gone', P('a'), P('a')),
    link('stays', P('b'), P('c')),
  ]);
  const inventory = (site_id: string) => ({
    ...{ site_id, page: '/', received_at: Date.now(), inventory_id: 'i', position: 0, url: '', title: '' },
    ...{ content_hash: '', type: 'link', selector: 'a', text: '', href: '', event_hint: '' },
  });
  await insertBlock(warehouse, 'inventory', 'pages', [inventory('gone'), inventory('stays')]);

  const eraser = createSiteEraser(warehouse, cluster);
  const isOver = (running: Map<string, unknown>): boolean => running.size === 0;
  const counted = (await eraser.count('gone')).filter(({ count }) => count > 0);
  expect(new Map(counted.map(({ place, count }) => [place, count]))).toEqual(
    new Map([
      ['event_rows', 1],
      ['person_links', 2],
      ['inventory', 1],
    ]),
  );
  await eraser.deleteMerged('gone');
  await until('who was merged', () => eraser.underWay('gone'), isOver);
  await eraser.deleteRows('gone');
  await until('the rows', () => eraser.underWay('gone'), isOver);
  await eraser.end();
  for (const table of SITE_TABLES) {
    expect([table, ...(await rowsOf(database, `SELECT site_id FROM ${table} WHERE site_id = 'gone'`))]).toEqual([
      table,
    ]);
  }
  expect(await rowsOf(database, 'SELECT lower(hex(person)) AS person FROM merged_persons')).toEqual([
    { person: 'c'.repeat(32) },
  ]);
  const left = Object.fromEntries((await eraser.count('stays')).map(({ place, count }) => [place, count]));
  expect(left).toMatchObject({ event_rows: 1, person_links: 1, inventory: 1 });
});
