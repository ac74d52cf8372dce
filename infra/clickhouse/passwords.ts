// Passwords of the users of a ClickHouse, of which each may have several at once (24.9 and later).

import { hash } from 'node:crypto';
import { run, select, type Warehouse } from './client.ts';
import { type Cluster, everywhere, ofAllServers } from './cluster.ts';

const byDigest = (password: string): string => `IDENTIFIED WITH sha256_hash BY '${hash('sha256', password)}'`;

/** How many passwords each of these users has, the most on any server; those that there are not are absent. @throws WarehouseError */
export async function passwordCounts(
  warehouse: Warehouse,
  cluster: Cluster | null,
  users: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const query = `SELECT name, toUInt32(max(length(auth_type))) AS passwords FROM ${ofAllServers('system.users', cluster)}
    WHERE name IN {users:Array(String)} GROUP BY name`;
  const rows = await select<{ name: string; passwords: number }>(warehouse, query, { users: [...users] });
  return new Map(rows.map(({ name, passwords }) => [name, passwords]));
}

/** Lets users sign in by these passwords as well, on all servers. Only digests are sent. @throws WarehouseError */
export const addPasswords = (
  warehouse: Warehouse,
  cluster: Cluster | null,
  passwords: Readonly<Record<string, string>>,
): Promise<void> => alterUsers(warehouse, cluster, passwords, (password) => `ADD ${byDigest(password)}`);

/** Ends every other password of these users, on all servers. @throws WarehouseError */
export const keepOnlyPasswords = (
  warehouse: Warehouse,
  cluster: Cluster | null,
  passwords: Readonly<Record<string, string>>,
): Promise<void> => alterUsers(warehouse, cluster, passwords, byDigest);

async function alterUsers(
  warehouse: Warehouse,
  cluster: Cluster | null,
  passwords: Readonly<Record<string, string>>,
  change: (password: string) => string,
): Promise<void> {
  for (const [user, password] of Object.entries(passwords)) {
    const name = user.replace(/[\\`]/g, '\\$&');
    await everywhere(warehouse, cluster, ({ server, on }) =>
      run(server, `ALTER USER \`${name}\`${on} ${change(password)}`),
    );
  }
}
