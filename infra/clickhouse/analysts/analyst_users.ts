import { ClickHouseError } from '@clickhouse/client';
import { createMutex } from '#infra/concurrency/gates.ts';
import { readError, type Warehouse } from '../client.ts';
import {
  ANALYST_QUOTA,
  ANALYST_SETTINGS,
  readerGrants,
  readonlySettings,
  rowsWhere,
  viewsAs,
} from './analyst_rights.ts';

export interface AnalystUser {
  analystId: string;
  /** Its name in ClickHouse, and that of the database of its views. */
  user: string;
  siteIds: readonly string[];
  /** Milliseconds since 1970 UTC; null where the database does not say it. */
  createdMs: number | null;
  /** When its logins end, in milliseconds since 1970 UTC; null: never, or it is not known. */
  expiresMs: number | null;
  createdBy: string;
}

/** Who reads ClickHouse by a user of their own. ClickHouse alone knows of them: whoever can log in is in the list. */
export type AnalystUsers = ReturnType<typeof createAnalystUsers>;

type MadeUser<Refusal> =
  | { kind: 'made'; analyst: AnalystUser }
  | { kind: 'exists' }
  | { kind: 'refused'; refusal: Refusal };

interface NewAnalystUser {
  analystId: string;
  siteIds: readonly string[];
  createdMs: number;
  /** Null: never. */
  expiresMs: number | null;
  createdBy: string;
  /** SHA-256 of its password, in hex. */
  passwordSha256: string;
}

/** The user of ClickHouse that the control service makes others by may not do so. */
export class AnalystRightsError extends Error {
  readonly code = 'analysts_not_set_up';
}

/** Ids of sites have underscores and these do not, so no analyst's name is another one's, or that of its reader. */
const ANALYST_ID_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const SITE_ID_PATTERN = /^[a-z0-9_-]{1,64}$/;
const PREFIX = 'sql_user_';
export const ANALYST_MANAGER = 'svc_analysts';
const READER = '_reader';

/** What ClickHouse answers whoever may not make users: ACCESS_DENIED, AUTHENTICATION_FAILED, and that it cannot make any. */
const RIGHTS_MISSING = new Set(['497', '516', '514']);

/**
 * @param warehouse As a user that may manage access.
 * @param database Of the service's tables.
 */
export function createAnalystUsers(warehouse: Warehouse, database: string) {
  // Two that make the same one at once would each take away what the other has made.
  const turns = createMutex();

  async function list(): Promise<AnalystUser[]> {
    // With what a revoke that stopped half-way left, so that it can be done again.
    const query = `SELECT names.name AS user, databases.comment AS comment FROM (
        SELECT DISTINCT if(endsWith(name, {reader:String}), left(name, -length({reader:String})), name) AS name
        FROM (SELECT name FROM system.users UNION ALL SELECT name FROM system.databases)
        WHERE startsWith(name, {prefix:String})
      ) AS names LEFT JOIN system.databases AS databases ON databases.name = names.name ORDER BY user`;
    const result = await warehouse.query({
      query,
      query_params: { prefix: PREFIX, reader: READER },
      format: 'JSONEachRow',
    });
    return (await result.json<{ user: string; comment: string }>())
      .map(({ user, comment }) => ({ analystId: user.slice(PREFIX.length), user, ...readComment(comment) }))
      .filter(({ analystId }) => ANALYST_ID_PATTERN.test(analystId));
  }

  async function run(statements: readonly string[]): Promise<void> {
    for (const query of statements) await warehouse.command({ query });
  }

  return {
    /** By their ids. @throws WarehouseError, AnalystRightsError */
    list: (): Promise<AnalystUser[]> => failing(list),
    /**
     * Makes one, who can log in only when everything else is there.
     *
     * @param refusalOf Why it is not made, by those that there are at its turn: no other is made or revoked here meanwhile.
     * @throws WarehouseError, AnalystRightsError
     */
    make: <Refusal>(
      wanted: NewAnalystUser,
      refusalOf: (known: readonly AnalystUser[]) => Refusal | null,
    ): Promise<MadeUser<Refusal>> =>
      turns.run(() =>
        failing(async (): Promise<MadeUser<Refusal>> => {
          const known = await list();
          const refusal = refusalOf(known);
          if (refusal !== null) return { kind: 'refused', refusal };
          if (known.some(({ analystId }) => analystId === wanted.analystId)) return { kind: 'exists' };
          // What was left of one that was made, or revoked, by halves may be of other sites.
          await run(revokeStatements(wanted.analystId, database));
          await run(makeStatements(wanted, database));
          const { passwordSha256: _passwordSha256, ...analyst } = wanted;
          return { kind: 'made', analyst: { ...analyst, user: nameOf(analyst.analystId) } };
        }),
      ),
    /**
     * Ends the logins and the queries of one, and removes all of it; also one that was made by halves. @throws
     * WarehouseError, AnalystRightsError
     */
    revoke: (analystId: string): Promise<void> =>
      turns.run(() => failing(() => run(revokeStatements(analystId, database)))),
  };
}

function nameOf(analystId: string): string {
  if (!ANALYST_ID_PATTERN.test(analystId)) throw new Error('an analyst has an id of another shape');
  return PREFIX + analystId;
}

/**
 * Statements that make an analyst of whom nothing is there; the login comes last, and may read nothing before its quota is
 * there.
 */
export function makeStatements(wanted: NewAnalystUser, database: string): string[] {
  const { siteIds, passwordSha256 } = wanted;
  if (siteIds.length === 0 || !siteIds.every((id) => SITE_ID_PATTERN.test(id))) {
    throw new Error('an analyst reads sites, by their ids');
  }
  const user = nameOf(wanted.analystId);
  const reader = user + READER;
  const condition = `site_id IN (${siteIds.map((id) => `'${id}'`).join(', ')})`;
  const [createDatabase = '', ...views] = viewsAs(reader, user, database);
  return [
    `CREATE USER \`${reader}\` NOT IDENTIFIED HOST NONE`,
    ...Object.entries(rowsWhere(condition)).map(
      ([table, using]) =>
        `CREATE ROW POLICY \`${user}\` ON ${database}.${table} FOR SELECT USING ${using} TO \`${reader}\``,
    ),
    ...readerGrants(database).map((grant) => `GRANT ${grant} TO \`${reader}\``),
    `${createDatabase} COMMENT '${writeComment(wanted)}'`,
    // In a new database nothing is replaced, which would take further rights.
    // The policies hold the rows back; the condition is there as well should another process have taken one away meanwhile.
    ...views.map((view) => `${view.replace(/^CREATE OR REPLACE /, 'CREATE ')} WHERE ${condition}`),
    `CREATE USER \`${user}\` IDENTIFIED WITH sha256_hash BY '${passwordSha256}'${validUntil(wanted.expiresMs)} DEFAULT DATABASE \`${user}\` SETTINGS ${readonlySettings(ANALYST_SETTINGS)}`,
    `CREATE QUOTA \`${user}\` ${ANALYST_QUOTA} TO \`${user}\``,
    `GRANT SELECT ON \`${user}\`.* TO \`${user}\``,
  ];
}

/** ClickHouse counts whole seconds. */
const validUntil = (expiresMs: number | null): string =>
  expiresMs === null ? '' : ` VALID UNTIL '${new Date(expiresMs).toISOString().slice(0, 19)}Z'`;

/**
 * Statements that end the logins of an analyst, and then what it runs, and remove all that there may be of it. The policies go
 * last: a reader that stays, because something still uses it, must not read more than before.
 */
export function revokeStatements(analystId: string, database: string): string[] {
  const user = nameOf(analystId);
  const policies = Object.keys(rowsWhere('')).map((table) => `\`${user}\` ON ${database}.${table}`);
  return [
    `DROP USER IF EXISTS \`${user}\``,
    `KILL QUERY WHERE user = '${user}' SYNC`,
    // Until its views are gone for good they are why the reader cannot be.
    `DROP DATABASE IF EXISTS \`${user}\` SYNC`,
    `DROP USER IF EXISTS \`${user}${READER}\``,
    `DROP ROW POLICY IF EXISTS ${policies.join(', ')}`,
    `DROP QUOTA IF EXISTS \`${user}\``,
  ];
}

/**
 * Statements by which an administrator makes the user that the control service manages analysts by: it may make users and
 * read nothing but what it gives on. Its password is given as its SHA-256 in hex.
 */
export function analystManagerStatements(database: string, passwordSha256: string): string[] {
  return [
    `CREATE USER IF NOT EXISTS ${ANALYST_MANAGER} IDENTIFIED WITH sha256_hash BY '${passwordSha256}'`,
    ...managerGrants(database).map((grant) => {
      const [privileges, option] = grant.split(GIVES_ON, 2);
      return `GRANT ${privileges} TO ${ANALYST_MANAGER}${option === undefined ? '' : GIVES_ON}`;
    }),
  ];
}

const GIVES_ON = ' WITH GRANT OPTION';

/** What the manager of analysts needs; those that it gives on say so at their end. */
export function managerGrants(database: string): string[] {
  return [
    // Of analysts and their readers alone: else it could make itself anybody.
    `CREATE USER, DROP USER, SET DEFINER ON ${PREFIX}*`,
    `CREATE ROW POLICY, DROP ROW POLICY ON ${database}.*`,
    'SHOW USERS, KILL QUERY, CREATE QUOTA, DROP QUOTA ON *.*',
    `CREATE DATABASE, DROP DATABASE, CREATE VIEW, DROP VIEW ON ${PREFIX}*.*`,
    `SELECT ON ${PREFIX}*.*${GIVES_ON}`,
    ...readerGrants(database).map((grant) => `${grant}${GIVES_ON}`),
    'SELECT ON system.users',
    'SELECT ON system.databases',
    'SELECT ON system.processes',
  ];
}

/** In base64url, in which nothing ends a text of SQL. */
function writeComment({ siteIds, createdMs, createdBy, expiresMs }: NewAnalystUser): string {
  return Buffer.from(JSON.stringify({ siteIds, createdMs, createdBy, expiresMs })).toString('base64url');
}

function readComment(comment: string): Omit<AnalystUser, 'analystId' | 'user'> {
  try {
    const read = JSON.parse(Buffer.from(comment, 'base64url').toString());
    const { siteIds, createdMs, createdBy, expiresMs = null } = read;
    if (Array.isArray(siteIds)) return { siteIds: siteIds.map(String), createdMs, createdBy, expiresMs };
  } catch {
    // Of somebody else: it can log in all the same, so it is listed.
  }
  return { siteIds: [], createdMs: null, createdBy: '', expiresMs: null };
}

async function failing<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ClickHouseError && RIGHTS_MISSING.has(error.code)) {
      throw new AnalystRightsError(`clickhouse: ${error.code} ${error.type ?? ''}`.trim());
    }
    throw readError(error);
  }
}
