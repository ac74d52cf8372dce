// Which tables, rows and settings people's SQL may use: of analysts with a user of their own, and by the API.
import { PERSON_DICTIONARIES } from '../person_dictionaries.ts';
import { SQL_WORKLOAD } from '../queries/select_rows.ts';

/** The site that the local analyst may read: the first site of the demo. */
export const ANALYST_SITE = 'shop';

/** The tables an analyst may read; each has a column for the site. */
export const ANALYST_TABLES = [
  'events',
  'sessions',
  'event_rows',
  'event_hours',
  'delivery_outcomes',
  'inventory',
  'duplicates',
  'person_links',
] as const;

/**
 * The views that an analyst reads by name and parameters, each of a time; with the names of these. Each has a column for the
 * site too.
 */
export const TIME_VIEWS = { sessions_between: ['begin', 'end'] } as const;

const READABLE: readonly string[] = [...ANALYST_TABLES, ...Object.keys(TIME_VIEWS)];

const GIB = 1024 ** 3;

/** What holds for all SQL that people write, whether it comes by the API or by a user of their own: nobody can change it. */
export const WRITTEN_SQL_SETTINGS = {
  readonly: 1,
  timeout_before_checking_execution_speed: 0,
  max_memory_usage: 2 * GIB,
  max_temporary_data_on_disk_size_for_query: 4 * GIB,
  max_threads: 4,
  ...SQL_WORKLOAD,
  // Nobody waits any more for what a connection that is gone had asked.
  cancel_http_readonly_queries_on_client_close: 1,
  // What one site's condition found out about parts of a table must not be used for another's.
  use_query_condition_cache: 0,
} as const;

/** Limits of an analyst's own user: of one query, and of all that it runs at once. */
export const ANALYST_SETTINGS = {
  ...WRITTEN_SQL_SETTINGS,
  max_execution_time: 30,
  max_result_rows: 1_000_000,
  max_result_bytes: 256 * 1024 ** 2,
  max_concurrent_queries_for_user: 4,
  max_memory_usage_for_user: 4 * GIB,
  max_temporary_data_on_disk_size_for_user: 8 * GIB,
} as const;

/** What an analyst's user may take of an hour: half of the server's time that four at once could have. */
export const ANALYST_QUOTA = 'FOR INTERVAL 1 hour MAX queries = 3000, execution_time = 7200';

const SITE_PATTERN = /^[a-z0-9_-]{1,64}$/;

/** An analyst sees one site only; a site's id has no more than letters, digits, `_` and `-`. */
export class AnalystSiteError extends Error {
  readonly code = 'analyst_site_malformed';
}

function checked(siteId: string): string {
  if (!SITE_PATTERN.test(siteId)) throw new AnalystSiteError('an analyst needs the id of a site');
  return siteId;
}

/** The user of a site's analyst, and the database of its views. @throws AnalystSiteError */
export const analystName = (siteId: string): string => `analyst_${checked(siteId)}`;

/**
 * The user with whose rights an analyst's views read the tables. It cannot log in. If an analyst could read a table itself,
 * table functions, system tables and EXPLAIN would show other sites' rows in spite of a row policy. A condition in the view
 * is not enough either: unlike a policy, it may be evaluated after the analyst's own conditions. @throws AnalystSiteError
 */
export const readerName = (siteId: string): string => `reader_${checked(siteId)}`;

/** Which rows an analyst's reader sees, of each table. @throws AnalystSiteError */
export const readerRows = (siteId: string): Record<string, string> => rowsWhere(siteCondition(siteId));

const siteCondition = (siteId: string): string => `site_id = '${checked(siteId)}'`;

export function rowsWhere(condition: string): Record<string, string> {
  return Object.fromEntries(READABLE.map((table) => [table, condition]));
}

export function readerGrants(database: string): string[] {
  return [
    ...READABLE.map((table) => `SELECT ON ${database}.${table}`),
    ...PERSON_DICTIONARIES.map((name) => `dictGet ON ${database}.${name}`),
  ];
}

/** Settings as a user or a profile has them that can change none of them. */
export const readonlySettings = (settings: Readonly<Record<string, number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${value} READONLY`)
    .join(', ');

/** Statements that make a user that cannot log in, and reads of each table the rows of a condition. */
function readerStatements(reader: string, condition: string, database: string): string[] {
  return [
    `CREATE USER IF NOT EXISTS ${reader} NOT IDENTIFIED HOST NONE`,
    ...READABLE.map(
      (table) =>
        `CREATE ROW POLICY IF NOT EXISTS ${reader} ON ${database}.${table} FOR SELECT USING ${condition} TO ${reader}`,
    ),
    ...readerGrants(database).map((grant) => `GRANT ${grant} TO ${reader}`),
  ];
}

/** Privileges of an analyst: its own views, and not the tables behind them. @throws AnalystSiteError */
export function analystGrants(siteId: string): string[] {
  return [`SELECT ON \`${analystName(siteId)}\`.*`];
}

/** Statements that make the views of a site's analyst anew; its reader must exist. @throws AnalystSiteError */
export const analystViews = (siteId: string, database: string): string[] =>
  viewsAs(readerName(siteId), analystName(siteId), database);

/** What a view shows of a table whose columns are not as they are to be read. */
const SHOWN: Readonly<Record<string, string>> = {
  event_rows: '* EXCEPT (uuid_high, uuid_mixed) REPLACE (sent_id AS event_id)',
};

/** Statements that make views of every table that analysts read, which read with the rights of `reader`. */
export function viewsAs(reader: string, views: string, database: string): string[] {
  const view = (name: string, of: string): string =>
    `CREATE OR REPLACE VIEW \`${views}\`.${name} DEFINER = \`${reader}\` SQL SECURITY DEFINER AS SELECT ${SHOWN[name] ?? '*'} FROM ${database}.${of}`;
  return [
    `CREATE DATABASE IF NOT EXISTS \`${views}\``,
    ...ANALYST_TABLES.map((table) => view(table, table)),
    ...Object.entries(TIME_VIEWS).map(([name, times]) =>
      view(name, `${name}(${times.map((time) => `${time} = {${time}:DateTime64(3, 'UTC')}`).join(', ')})`),
    ),
  ];
}

/**
 * Statements that make a site's analyst on a server that manages access by SQL; an administrator runs them. They revoke what
 * an analyst that was made before had. The password is given as its SHA-256 in hex. @throws AnalystSiteError
 */
export function analystStatements(siteId: string, database: string, passwordSha256: string): string[] {
  const name = `\`${analystName(siteId)}\``;
  const limits = `\`${analystName(siteId)}_limits\``;
  return [
    ...readerStatements(`\`${readerName(siteId)}\``, siteCondition(siteId), database),
    ...analystViews(siteId, database),
    `CREATE SETTINGS PROFILE OR REPLACE ${limits} SETTINGS ${readonlySettings(ANALYST_SETTINGS)}`,
    `CREATE USER IF NOT EXISTS ${name} IDENTIFIED WITH sha256_hash BY '${passwordSha256}' SETTINGS PROFILE ${limits}`,
    `CREATE QUOTA OR REPLACE ${limits} ${ANALYST_QUOTA} TO ${name}`,
    `ALTER USER ${name} DEFAULT DATABASE ${name}`,
    `REVOKE ALL ON *.* FROM ${name}`,
    ...analystGrants(siteId).map((grant) => `GRANT ${grant} TO ${name}`),
  ];
}

/** As whom the control service asks what analysts write. Users of single sites are `analyst_...` and `reader_...`: no site's. */
export const SQL_API_USER = 'sql_asker';

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

export const sqlGrants = (): string[] => [`SELECT ON ${SQL_VIEWS}.*`];

/** Statements that make the views anew; the reader must exist. */
export const sqlViews = (database: string): string[] => viewsAs(SQL_READER, SQL_VIEWS, database);

/**
 * Statements by which an administrator of a server that manages access by SQL makes the two users and the views. The
 * password of the asker is given as its SHA-256 in hex.
 */
export function sqlRightsStatements(database: string, passwordSha256: string): string[] {
  return [
    ...readerStatements(SQL_READER, SITE_OF_QUERY, database),
    ...sqlViews(database),
    `CREATE USER IF NOT EXISTS ${SQL_API_USER} IDENTIFIED WITH sha256_hash BY '${passwordSha256}'`,
    `ALTER USER ${SQL_API_USER} DEFAULT DATABASE ${SQL_VIEWS} SETTINGS ${readonlySettings(SQL_SETTINGS)}`,
    `REVOKE ALL ON *.* FROM ${SQL_API_USER}`,
    ...sqlGrants().map((grant) => `GRANT ${grant} TO ${SQL_API_USER}`),
  ];
}

export const SQL_EXAMPLE =
  "SELECT country, uniqExact(person_id) AS people FROM events WHERE event = 'purchase' GROUP BY country";
