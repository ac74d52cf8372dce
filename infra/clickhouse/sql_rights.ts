import { readerGrants, rowsWhere, viewsAs, WRITTEN_SQL_SETTINGS } from './analyst.ts';

/** As whom the control service asks what analysts write. Users of single sites are `analyst_...` and `reader_...`: no site's. */
export const SQL_ASKER = 'sql_asker';

/** With whose rights the views are read. It cannot log in. */
export const SQL_READER = 'sql_reader';

/** The database of the views, the only one that analysts' SQL sees. */
export const SQL_VIEWS = 'sql_views';

/**
 * Which rows a query sees: those of the site that its id begins with. The id comes with the request and not with the
 * statement, in which no clause changes it, as SETTINGS would change a setting.
 */
const SITE_OF_QUERY = "site_id = splitByChar(':', initialQueryID())[1]";

/** Which rows the reader sees, of each table of one node: a cluster is refused by the configuration. */
export const SQL_SITE_ROWS = rowsWhere(SITE_OF_QUERY);

/** What holds for every query of the asker, who has read-only access and can change none of it. */
export const SQL_SETTINGS = {
  ...WRITTEN_SQL_SETTINGS,
  max_execution_time: 20,
  max_result_rows: 100_000,
  max_result_bytes: 16 * 1024 ** 2,
  // Of all sites together: the control service has limits for each.
  max_concurrent_queries_for_user: 16,
  max_memory_usage_for_user: 16 * 1024 ** 3,
  max_temporary_data_on_disk_size_for_user: 32 * 1024 ** 3,
  // A decimal number as a text has all its digits.
  output_format_json_quote_decimals: 1,
  // As numbers of JSON they would be rounded before their type is looked at.
  output_format_json_quote_64bit_integers: 1,
  output_format_parquet_string_as_string: 1,
} as const;

/** Privileges of the asker: the views, and nothing behind them. */
export const sqlGrants = (): string[] => [`SELECT ON ${SQL_VIEWS}.*`];

/** Statements that make the views anew; the reader must exist. */
export const sqlViews = (database: string): string[] => viewsAs(SQL_READER, SQL_VIEWS, database);

/**
 * Statements by which an administrator of a server that manages access by SQL makes the two users and the views. The
 * password of the asker is given as its SHA-256 in hex.
 */
export function sqlRightsStatements(database: string, passwordSha256: string): string[] {
  const settings = Object.entries(SQL_SETTINGS).map(([setting, value]) => `${setting} = ${value} READONLY`);
  return [
    `CREATE USER IF NOT EXISTS ${SQL_READER} NOT IDENTIFIED HOST NONE`,
    ...Object.keys(SQL_SITE_ROWS).map(
      (table) =>
        `CREATE ROW POLICY IF NOT EXISTS ${SQL_READER} ON ${database}.${table} FOR SELECT USING ${SITE_OF_QUERY} TO ${SQL_READER}`,
    ),
    ...readerGrants(database).map((grant) => `GRANT ${grant} TO ${SQL_READER}`),
    ...sqlViews(database),
    `CREATE USER IF NOT EXISTS ${SQL_ASKER} IDENTIFIED WITH sha256_hash BY '${passwordSha256}'`,
    `ALTER USER ${SQL_ASKER} DEFAULT DATABASE ${SQL_VIEWS} SETTINGS ${settings.join(', ')}`,
    `REVOKE ALL ON *.* FROM ${SQL_ASKER}`,
    ...sqlGrants().map((grant) => `GRANT ${grant} TO ${SQL_ASKER}`),
  ];
}

/** What an analyst may write, for the documentation. */
export const SQL_EXAMPLE =
  "SELECT country, uniqExact(person_id) AS people FROM events WHERE event = 'purchase' GROUP BY country";
