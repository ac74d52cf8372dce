import type { ClickhouseRight, ProcessUser } from '#infra/rights/process_rights.ts';

/** Privileges as GRANT takes them, such as `SELECT ON svc.event_rows`. */
function grantsOf(rights: readonly ClickhouseRight[], database: string): string[] {
  return rights.flatMap(({ privileges, on }) =>
    (on.length === 0 ? ['*.*'] : on.map((name) => (name.includes('.') ? name : `${database}.${name}`))).map(
      (target) => `${privileges.join(', ')} ON ${target}`,
    ),
  );
}

/** The users of ClickHouse that the processes are, with their privileges. */
export function clickhouseUsers(users: readonly ProcessUser[], database: string): { name: string; grants: string[] }[] {
  return users.flatMap(({ user, rights }) =>
    rights.clickhouse === null ? [] : [{ name: user, grants: grantsOf(rights.clickhouse, database) }],
  );
}

/** Statements by which an administrator makes these users, after provisioning has made the tables. */
export function clickhouseUserStatements(users: readonly ProcessUser[], database: string): string[] {
  return clickhouseUsers(users, database).flatMap(({ name, grants }) => [
    `CREATE USER IF NOT EXISTS ${name} IDENTIFIED WITH sha256_hash BY 'SHA256_OF_THE_PASSWORD' DEFAULT DATABASE ${database}`,
    `REVOKE ALL ON *.* FROM ${name}`,
    ...grants.map((grant) => `GRANT ${grant} TO ${name}`),
  ]);
}
