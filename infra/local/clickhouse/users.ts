import { createHash } from 'node:crypto';
import {
  ANALYST_SETTINGS,
  analystGrants,
  analystName,
  readerGrants,
  readerName,
  readerRows,
} from '#infra/clickhouse/analyst.ts';
import { clickhouseUsers } from '#infra/clickhouse/service_users.ts';
import {
  SQL_ASKER,
  SQL_READER,
  SQL_SETTINGS,
  SQL_SITE_ROWS,
  SQL_VIEWS,
  sqlGrants,
} from '#infra/clickhouse/sql_rights.ts';
import { LOCAL_PROCESS_USERS, SERVICE_USER } from '#infra/local/credentials.ts';

/** The database of the service; every user's default. */
export const DATABASE = 'svc';

/** A user of the local ClickHouse. There are no others, because this server cannot CREATE USER. */
export interface UserPlan {
  name: string;
  /** Privileges, as `SELECT ON svc.*`. Undefined: everything but managing access. */
  grants?: string[];
  /** Settings of the user's profile, such as `{ readonly: 1 }`. */
  settings?: Record<string, string | number>;
  /** Its default database, if that is not the service's. */
  database?: string;
  /** Condition on the rows the user sees, by table. Undefined: all rows. */
  rows?: Record<string, string>;
  /** True: nobody logs in as this user; views of others read with its rights. */
  isReader?: boolean;
}

/** An address from which no connection can come. */
const NOWHERE = '0.0.0.0';

/** The site that the local analyst may read: the first site of the demo. */
export const ANALYST_SITE = 'shop';

/** Add a user here; its password is made at the next start (credentialsOf). */
export const LOCAL_USERS: UserPlan[] = [
  { name: SERVICE_USER },
  ...clickhouseUsers(LOCAL_PROCESS_USERS, DATABASE),
  {
    name: analystName(ANALYST_SITE),
    database: analystName(ANALYST_SITE),
    grants: analystGrants(ANALYST_SITE),
    settings: ANALYST_SETTINGS,
  },
  {
    name: readerName(ANALYST_SITE),
    isReader: true,
    grants: readerGrants(DATABASE),
    rows: readerRows(ANALYST_SITE),
  },
  { name: SQL_ASKER, database: SQL_VIEWS, grants: sqlGrants(), settings: SQL_SETTINGS },
  { name: SQL_READER, isReader: true, grants: readerGrants(DATABASE), rows: SQL_SITE_ROWS },
];

/**
 * users.xml. `default` runs the server's own start-up queries, for which it must have no password on loopback. It may only
 * create the database, without which no other user could log in, and open and close listeners.
 */
export function renderUsers(users: UserPlan[], passwords: Record<string, string>): string {
  return `<clickhouse>
<profiles><default/>${users.map(renderProfile).join('')}</profiles>
<quotas><default/></quotas>
<users>
${renderUser({ name: 'default', grants: ['SYSTEM LISTEN ON *.*', `CREATE DATABASE ON ${DATABASE}.*`] }, '<password/>')}
${users.map((user) => renderUser({ database: DATABASE, ...user }, hashOf(passwords[user.name]))).join('\n')}
</users>
</clickhouse>
`;
}

function renderProfile(user: UserPlan): string {
  const settings = Object.entries(user.settings ?? {}).map(([name, value]) => `<${name}>${value}</${name}>`);
  return `<${user.name}>${settings.join('')}</${user.name}>`;
}

function renderUser({ name, grants, database, rows = {}, isReader }: UserPlan, password: string): string {
  const queries = grants?.map((grant) => `<query>GRANT ${grant}</query>`).join('');
  return (
    `<${name}>${password}<networks><ip>${isReader === true ? NOWHERE : '127.0.0.1'}</ip></networks>` +
    `<profile>${name}</profile><quota>default</quota>` +
    `${database === undefined ? '' : `<default_database>${database}</default_database>`}` +
    `${renderRows(rows)}${queries === undefined ? '' : `<grants>${queries}</grants>`}</${name}>`
  );
}

function renderRows(rows: Record<string, string>): string {
  const tables = Object.entries(rows).map(([table, condition]) => `<${table}><filter>${condition}</filter></${table}>`);
  return tables.length === 0 ? '' : `<databases><${DATABASE}>${tables.join('')}</${DATABASE}></databases>`;
}

function hashOf(password: string | undefined): string {
  if (password === undefined) throw new Error('a ClickHouse user has no password');
  return `<password_sha256_hex>${createHash('sha256').update(password).digest('hex')}</password_sha256_hex>`;
}
