import { ANALYST_TABLES, analystName, analystViews } from '#infra/clickhouse/analyst.ts';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { ANALYST_SITE, DATABASE } from './users.ts';

/** Makes the views of the local analyst anew, with the comments that the tables' columns have by now. */
export async function makeLocalAnalyst(clickhouseUrl: string): Promise<void> {
  const warehouse = createWarehouse(clickhouseUrl);
  try {
    for (const query of analystViews(ANALYST_SITE, DATABASE)) await warehouse.command({ query });
    for (const query of await comments(warehouse)) await warehouse.command({ query });
  } finally {
    await warehouse.close();
  }
}

async function comments(warehouse: Warehouse): Promise<string[]> {
  const query = `SELECT table, name, replaceAll(replaceAll(comment, '\\\\', '\\\\\\\\'), '''', '\\\\''') AS text FROM system.columns
    WHERE database = {database:String} AND table IN {tables:Array(String)} AND comment != '' AND default_kind = ''`;
  const query_params = { database: DATABASE, tables: [...ANALYST_TABLES] };
  const asked = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
  const byTable = Map.groupBy(await asked.json<{ table: string; name: string; text: string }>(), ({ table }) => table);
  return [...byTable].map(([table, columns]) => {
    const changes = columns.map(({ name, text }) => `COMMENT COLUMN ${name} '${text}'`);
    return `ALTER TABLE \`${analystName(ANALYST_SITE)}\`.${table} ${changes.join(', ')}`;
  });
}
