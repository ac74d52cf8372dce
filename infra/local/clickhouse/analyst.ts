import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANALYST_TABLES, analystName, analystViews } from '#infra/clickhouse/analyst.ts';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { SQL_ASKER, SQL_VIEWS, sqlViews } from '#infra/clickhouse/sql_rights.ts';
import { ANALYST_SITE, DATABASE } from './users.ts';

/** The address of the local ClickHouse as the user that the control service asks SQL as. */
export function localSqlUrl(dataDir: string, clickhouseUrl: string): string {
  const passwords = JSON.parse(readFileSync(join(dataDir, 'clickhouse', 'credentials.json'), 'utf8'));
  const url = new URL(clickhouseUrl);
  url.username = SQL_ASKER;
  url.password = passwords[SQL_ASKER];
  url.pathname = `/${SQL_VIEWS}`;
  return url.href;
}

/** Makes the views of the local analyst and of SQL anew, with the comments that the tables' columns have by now. */
export async function makeLocalAnalyst(clickhouseUrl: string): Promise<void> {
  const warehouse = createWarehouse(clickhouseUrl);
  try {
    for (const query of analystViews(ANALYST_SITE, DATABASE)) await warehouse.command({ query });
    for (const query of sqlViews(DATABASE)) await warehouse.command({ query });
    for (const views of [analystName(ANALYST_SITE), SQL_VIEWS]) {
      for (const query of await comments(warehouse, views)) await warehouse.command({ query });
    }
  } finally {
    await warehouse.close();
  }
}

async function comments(warehouse: Warehouse, views: string): Promise<string[]> {
  const query = `SELECT table, name, replaceAll(replaceAll(comment, '\\\\', '\\\\\\\\'), '''', '\\\\''') AS text FROM system.columns
    WHERE database = {database:String} AND table IN {tables:Array(String)} AND comment != '' AND default_kind = ''`;
  const query_params = { database: DATABASE, tables: [...ANALYST_TABLES] };
  const asked = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
  const byTable = Map.groupBy(await asked.json<{ table: string; name: string; text: string }>(), ({ table }) => table);
  return [...byTable].map(([table, columns]) => {
    const changes = columns.map(({ name, text }) => `COMMENT COLUMN ${name} '${text}'`);
    return `ALTER TABLE \`${views}\`.${table} ${changes.join(', ')}`;
  });
}
