// Backup and restore of the database by ClickHouse's own statements, which go on in the server and are asked after.

import { setTimeout as sleep } from 'node:timers/promises';
import { ClickHouseError } from '@clickhouse/client';
import { createWarehouse, readError, select, type Warehouse } from './client.ts';
import type { Cluster } from './cluster.ts';
import { readClickhouseAddress, readClickhouseLogin, type Server } from './servers.ts';

/** A statement was refused by the server, or ended in failure; or its place is none, and nothing was begun. */
export class WarehouseBackupError extends Error {
  readonly code: 'clickhouse_backup_failed' | 'clickhouse_place_invalid';

  constructor(code: WarehouseBackupError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** What one server or the cluster has written or read. */
export interface BackupReport {
  /** As the statement named it, without the secrets that it may hold. */
  place: string;
  bytes: number;
}

interface BackupOptions {
  /** With rights to `BACKUP` and, to restore, to create and insert. */
  url: string;
  cluster: Cluster | null;
  /**
   * Where to, or where from, in ClickHouse's words: `S3('https://…', …)`, `Disk('backups', 'monday')`, `File('monday')`, or a named
   * collection. `{shard}` in it is the number of the server, from 1.
   */
  place: string;
  /** Called now and then with the bytes so far. */
  onProgress(bytes: number): void;
}

const KINDS = ['S3', 'Disk', 'File', 'AzureBlobStorage'];
const PLACE = new RegExp(`^\\s*(${KINDS.join('|')})\\(([^;]*)\\)\\s*$`, 'i');
const SHARD = '{shard}';
const POLL_MS = 1_000;
/** Polls that fail one after the other, as while a server is busy: for an hour. */
const FAILURES_MAX = 3_600;
/**
 * Dictionaries have the user and the password that they read with in their statement, so a backup has none of them: provisioning makes
 * them anew.
 */
const DICTIONARIES = `SELECT name FROM system.tables WHERE database = {database:String} AND engine = 'Dictionary'`;

/** Backs up the database. Resolves to what each place holds. @throws WarehouseBackupError, WarehouseError */
export function backUpWarehouse(options: BackupOptions): Promise<BackupReport[]> {
  const { database } = readClickhouseLogin(options.url);
  return overPlaces(options, async (server, place, on) => {
    const found = await select<{ name: string }>(server, DICTIONARIES, { database });
    const left = found.map(({ name }) => `${nameOf(database)}.${nameOf(name)}`);
    const except = left.length === 0 ? '' : ` EXCEPT TABLES ${left.join(', ')}`;
    return `BACKUP DATABASE ${nameOf(database)}${except}${on} TO ${place}`;
  });
}

/**
 * Brings the database back from where it was backed up. The database must be there and have no tables that hold rows; what is made at
 * start, such as by provisioning, must not be there yet. @throws WarehouseBackupError, WarehouseError
 */
export function restoreWarehouse(options: BackupOptions): Promise<BackupReport[]> {
  const database = nameOf(readClickhouseLogin(options.url).database);
  return overPlaces(options, async (_server, place, on) => `RESTORE DATABASE ${database}${on} FROM ${place}`);
}

/** Tables of the database that are there, so that nothing is restored over them. @throws WarehouseError */
export async function tablesThere(url: string): Promise<string[]> {
  const warehouse = createWarehouse(url);
  try {
    const query = `SELECT name FROM system.tables WHERE database = {database:String} ORDER BY name`;
    const all = warehouse.servers.map((server) =>
      select<{ name: string }>(server, query, { database: readClickhouseLogin(url).database }),
    );
    return [...new Set((await Promise.all(all)).flat().map(({ name }) => name))];
  } finally {
    await warehouse.close();
  }
}

async function overPlaces(
  { url, cluster, place, onProgress }: BackupOptions,
  statementOf: (server: Server, place: string, on: string) => Promise<string>,
): Promise<BackupReport[]> {
  checkPlace({ url, cluster, place });
  const warehouse = createWarehouse(url);
  try {
    const servers = serversOf(warehouse, cluster);
    const on = cluster?.isReplicated === true ? ` ON CLUSTER '${cluster.name}'` : '';
    const done = servers.map(() => 0);
    // Told when they are done, also where another one fails: none goes on unwatched.
    const outcomes = await Promise.allSettled(
      servers.map(async (server, at): Promise<BackupReport> => {
        const own = placeOf(place, at);
        const statement = await statementOf(server, own, on);
        const bytes = await follow(
          server,
          statement,
          (text) => withoutWordsOf(own, text),
          (so) => {
            done[at] = so;
            onProgress(done.reduce((sum, one) => sum + one, 0));
          },
        );
        return { place: shownPlace(own), bytes };
      }),
    );
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
  } finally {
    await warehouse.close();
  }
}

type Placed = Pick<BackupOptions, 'url' | 'cluster' | 'place'>;

/** The places of the servers as they are shown, without asking them. @throws WarehouseBackupError */
export function shownPlaces(placed: Placed): string[] {
  checkPlace(placed);
  return Array.from({ length: countOf(placed) }, (_, at) => shownPlace(placeOf(placed.place, at)));
}

const countOf = ({ url, cluster }: Placed): number =>
  cluster?.isReplicated === false ? readClickhouseAddress(url).length : 1;

const placeOf = (place: string, at: number): string => place.replaceAll(SHARD, String(at + 1)).trim();

function checkPlace(placed: Placed): void {
  const { place } = placed;
  if (!PLACE.test(place)) {
    throw new WarehouseBackupError('clickhouse_place_invalid', `a place is one of ${KINDS.join('(...), ')}(...)`);
  }
  const count = countOf(placed);
  if (count > 1 && IS_BUCKET.test(place) && !place.includes(SHARD)) {
    const message = `${count} servers would write to one place: put ${SHARD} into its name`;
    throw new WarehouseBackupError('clickhouse_place_invalid', message);
  }
}

/** Each shard that is told by itself; else one, which tells the others. */
function serversOf(warehouse: Warehouse, cluster: Cluster | null): readonly Server[] {
  return cluster?.isReplicated === false ? warehouse.servers : warehouse.servers.slice(0, 1);
}

interface Progress {
  status: string;
  error: string;
  bytes: number;
}

/** Runs a statement in the server, and waits for its end. It goes on there if nobody waits. `shown` takes secrets out of an error. */
async function follow(
  server: Server,
  statement: string,
  shown: (text: string) => string,
  onProgress: (bytes: number) => void,
): Promise<number> {
  const id = await begin(server, statement, shown);
  for (let failures = 0; ; ) {
    await sleep(POLL_MS);
    let found: Progress | undefined;
    try {
      const query = `SELECT toString(status) AS status, error, toFloat64(greatest(total_size, bytes_read)) AS bytes
        FROM system.backups WHERE id = {id:String}`;
      [found] = await select<Progress>(server, query, { id });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures > FAILURES_MAX) throw error;
      continue;
    }
    if (found === undefined) {
      throw new WarehouseBackupError('clickhouse_backup_failed', 'the server was started anew meanwhile');
    }
    onProgress(found.bytes);
    if (/FAILED|CANCELLED/.test(found.status)) {
      throw new WarehouseBackupError('clickhouse_backup_failed', shown(found.error));
    }
    if (/^(BACKUP_CREATED|RESTORED)$/.test(found.status)) return found.bytes;
  }
}

/** The id under which the server has it. Its words are for the operator, who wrote the place; keys in them are left out. */
async function begin(server: Server, statement: string, shown: (text: string) => string): Promise<string> {
  try {
    const answer = await server.query({ query: `${statement} ASYNC`, format: 'JSONEachRow' });
    const [begun] = await answer.json<{ id: string }>();
    return begun?.id ?? '';
  } catch (error) {
    if (!(error instanceof ClickHouseError)) throw readError(error);
    throw new WarehouseBackupError('clickhouse_backup_failed', shown(error.message));
  }
}

/** Names of a database or table, quoted. */
const nameOf = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** Of a disk or a file nothing is secret. */
const IS_BUCKET = /^\s*(S3|AzureBlobStorage)\(/i;

/**
 * What a server says of a place, without what stands in quotes in it, or behind one that was forgotten: where it cannot be read, the
 * server quotes any of it, and keys with it.
 */
function withoutWordsOf(place: string, text: string): string {
  const words = IS_BUCKET.test(place) ? place.split(/['"]/).slice(1) : [];
  const secret = words.filter((word) => /[^\s,()]/.test(word)).toSorted((one, other) => other.length - one.length);
  const [said = ''] = text.split(/,?\s*Stack trace/);
  return shownPlace(secret.reduce((left, word) => left.replaceAll(word, '...'), said));
}

/** Without the keys of a bucket, which stand behind its address, are named, or are part of an address. */
function shownPlace(text: string): string {
  return text
    .replace(/\/\/[^/@\s']*@/g, '//...@')
    .replace(/((?:S3|AzureBlobStorage)\(\s*'[^']*')(?:\s*,\s*'[^']*')+/gi, '$1, ...')
    .replace(/(\w+\s*=\s*)'[^']*'/g, '$1...')
    .replace(/\?[^'\s)]*/g, '?...');
}
