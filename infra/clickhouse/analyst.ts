/** What an analyst may read; every one of them has a site. */
export const ANALYST_TABLES = [
  'events',
  'sessions',
  'event_rows',
  'event_hours',
  'delivery_outcomes',
  'inventory',
  'person_links',
] as const;

/** What one query of an analyst may take. Read-only as it is, it cannot change these. */
export const ANALYST_SETTINGS = {
  readonly: 1,
  max_execution_time: 30,
  max_memory_usage: 2 * 1024 ** 3,
  max_result_rows: 1_000_000,
  max_result_bytes: 256 * 1024 ** 2,
  max_concurrent_queries_for_user: 4,
} as const;

const SITE_PATTERN = /^[a-z0-9_-]{1,64}$/;

/** An analyst sees one site only; a site's id has no more than letters, digits, `_` and `-`. */
export class AnalystSiteError extends Error {
  readonly code = 'analyst_site_malformed';
}

/** The user of a site's analyst. @throws AnalystSiteError */
export function analystName(siteId: string): string {
  if (!SITE_PATTERN.test(siteId)) throw new AnalystSiteError('an analyst needs the id of a site');
  return `analyst_${siteId}`;
}

/** Which rows an analyst sees, of each table. @throws AnalystSiteError */
export function analystRows(siteId: string): Record<string, string> {
  if (!SITE_PATTERN.test(siteId)) throw new AnalystSiteError('an analyst needs the id of a site');
  return Object.fromEntries(ANALYST_TABLES.map((table) => [table, `site_id = '${siteId}'`]));
}

/** Privileges of an analyst, as GRANT takes them. */
export function analystGrants(database: string): string[] {
  return [
    ...ANALYST_TABLES.map((table) => `SELECT ON ${database}.${table}`),
    `dictGet ON ${database}.person_overrides`,
  ];
}

/**
 * Statements that make a site's analyst on a server that manages access by SQL, to be run by somebody who may. The
 * password is given as its SHA-256 in hex. @throws AnalystSiteError
 */
export function analystStatements(siteId: string, database: string, passwordSha256: string): string[] {
  const name = `\`${analystName(siteId)}\``;
  const limits = `\`${analystName(siteId)}_limits\``;
  const settings = Object.entries(ANALYST_SETTINGS).map(([setting, value]) => `${setting} = ${value} READONLY`);
  return [
    `CREATE SETTINGS PROFILE IF NOT EXISTS ${limits} SETTINGS ${settings.join(', ')}`,
    `CREATE USER IF NOT EXISTS ${name} IDENTIFIED WITH sha256_hash BY '${passwordSha256}' DEFAULT DATABASE ${database} SETTINGS PROFILE ${limits}`,
    ...Object.entries(analystRows(siteId)).map(
      ([table, condition]) =>
        `CREATE ROW POLICY IF NOT EXISTS ${name} ON ${database}.${table} FOR SELECT USING ${condition} TO ${name}`,
    ),
    ...analystGrants(database).map((grant) => `GRANT ${grant} TO ${name}`),
  ];
}
