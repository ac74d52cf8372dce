import { hash } from 'node:crypto';
import { readError, type Warehouse } from './client.ts';
import { onCluster } from './cluster.ts';
import { databaseOf, lastStatements } from './migrate.ts';

/** Before the digest in the comment of a dictionary; raised where digests are made otherwise. */
const MARK = 'source 1:';
/** Tells one password from another, and is too short to find it by. */
const DIGEST_CHARS = 6;

/**
 * A dictionary reads with the user and the password that were written into it, so those that were made with others are made
 * anew: after a rotation every query of `events` fails else. Resolves to the names of these. @throws WarehouseError
 */
export async function renewDictionaries(
  warehouse: Warehouse,
  url: string,
  cluster: string | null = null,
): Promise<string[]> {
  const { username, password } = new URL(url);
  const comment = MARK + hash('sha256', JSON.stringify([username, password]), 'hex').slice(0, DIGEST_CHARS);
  const statements = lastStatements(/^CREATE DICTIONARY IF NOT EXISTS (\w+)/, url);
  const known = await commentsOf(warehouse);
  const renewed: string[] = [];
  for (const [name, statement] of statements) {
    if (known.get(name) === comment) continue;
    const made = statement.replace('CREATE DICTIONARY IF NOT EXISTS', 'CREATE OR REPLACE DICTIONARY');
    const query = `${made}\nCOMMENT '${comment}'`;
    for (const one of cluster === null ? [query] : onCluster([query], cluster, databaseOf(url)))
      await run(warehouse, one);
    renewed.push(name);
  }
  return renewed;
}

async function commentsOf(warehouse: Warehouse): Promise<Map<string, string>> {
  const query = "SELECT name, comment FROM system.tables WHERE database = currentDatabase() AND engine = 'Dictionary'";
  try {
    const rows = await (await warehouse.query({ query, format: 'JSONEachRow' })).json<
      Record<'name' | 'comment', string>
    >();
    return new Map(rows.map(({ name, comment }) => [name, comment]));
  } catch (error) {
    throw readError(error);
  }
}

/** What refers to a dictionary does so by its name, and finds the new one under it. */
async function run(warehouse: Warehouse, query: string): Promise<void> {
  try {
    await warehouse.command({ query, clickhouse_settings: { check_table_dependencies: 0 } });
  } catch (error) {
    throw readError(error);
  }
}
