// A backup as a folder: a manifest, and a file for each topic with its records as lines of JSON, compressed by zstd.

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const MANIFEST = 'backup.json';
const FORMAT = 1;
const NEW_LINE = 10;

const STORED_TOPIC = Type.Object({
  partitions: Type.Integer({ minimum: 1 }),
  records: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
  /** By the id under which the records name it, the text of a schema. */
  schemas: Type.Record(Type.String(), Type.String()),
});
export type StoredTopic = Type.Static<typeof STORED_TOPIC>;

const MANIFEST_FORM = Type.Object({
  format: Type.Literal(FORMAT),
  version: Type.String(),
  /** Milliseconds since 1970 UTC. */
  taken_at: Type.Integer(),
  topics: Type.Record(Type.String(), STORED_TOPIC),
  /** Null: ClickHouse was not backed up with it. */
  clickhouse: Type.Union([
    Type.Null(),
    Type.Object({
      places: Type.Array(Type.String()),
      bytes: Type.Number(),
      /** What arrived later may be missing in it; milliseconds since 1970 UTC. */
      since: Type.Integer(),
    }),
  ]),
  /** By which it is told whether keys are those without which the backup is worth little. */
  keys: Type.Object({ identity: Type.String(), sealing: Type.Array(Type.String()) }),
});
export type Manifest = Type.Static<typeof MANIFEST_FORM>;

/** A record as it stands on a topic. */
export interface StoredRecord {
  partition: number;
  key: string | null;
  value: Buffer | null;
}

/** What forbids to take a backup, or to bring it back: its folder, or what is there. Nothing was changed. */
export class BackupError extends Error {
  readonly code:
    | 'backup_missing'
    | 'backup_damaged'
    | 'backup_newer'
    | 'folder_missing'
    | 'folder_not_empty'
    | 'keys_differ'
    | 'topic_not_empty'
    | 'partitions_differ'
    | 'tables_there'
    | 'tables_missing'
    | 'refill_under_way'
    | 'database_missing'
    | 'backup_without_clickhouse'
    | 'backup_too_old'
    | 'servers_differ'
    | 'place_differs';

  constructor(code: BackupError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const TOPIC_FILE = '.ndjson.zst';
const fileOf = (folder: string, topic: string): string => join(folder, `${topic}${TOPIC_FILE}`);

/** Whether a file of that name is part of a backup, also of one that is not finished. */
export const isBackupFile = (name: string): boolean =>
  name === MANIFEST || name === `${MANIFEST}.new` || name.endsWith(TOPIC_FILE);

/** Makes the folder, for whoever runs this alone: what is in it is about people. @throws BackupError where one is there */
export async function makeFolder(folder: string): Promise<void> {
  const there = await readFile(join(folder, MANIFEST), 'utf8').catch(() => null);
  if (there !== null) throw new BackupError('folder_not_empty', `${folder} holds a backup already`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Writes the manifest, last: a folder without it is no backup. */
export async function writeManifest(folder: string, manifest: Omit<Manifest, 'format'>): Promise<void> {
  const path = join(folder, MANIFEST);
  await writeFile(`${path}.new`, `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  await rename(`${path}.new`, path);
}

/** @throws BackupError */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => null);
  if (text === null) throw new BackupError('backup_missing', `${folder} holds no backup that was finished`);
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new BackupError('backup_damaged', `${MANIFEST} is no JSON`);
  }
  if (Value.Check(MANIFEST_FORM, read)) return read;
  const { format } = (read ?? {}) as { format?: unknown };
  if (typeof format === 'number' && format > FORMAT) {
    throw new BackupError('backup_newer', 'a newer version made this backup');
  }
  throw new BackupError('backup_damaged', `${MANIFEST} is not as it was written`);
}

/** Writes records of a topic; `end` resolves to how many there were, and the digest of the file. */
export function openTopicFile(folder: string, topic: string) {
  const hash = createHash('sha256');
  const file = createWriteStream(fileOf(folder, topic), { mode: 0o600, flush: true });
  const compress = createZstdCompress();
  const digest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const written = pipeline(compress, digest, file);
  let awaited: PromiseWithResolvers<void> | null = null;
  // Shared by partitions that are read side by side.
  compress.on('drain', () => {
    awaited?.resolve();
    awaited = null;
  });
  // Seen where it is ended, or where a write waits: a race against it would hold a bit of memory for each write of millions.
  written.catch((error: unknown) => awaited?.reject(error));
  let records = 0;
  return {
    async add({ partition, key, value }: StoredRecord): Promise<void> {
      records += 1;
      const line = JSON.stringify([partition, key, value === null ? null : value.toString('base64')]);
      if (compress.write(`${line}\n`)) return;
      if (compress.destroyed) return written;
      awaited ??= Promise.withResolvers();
      await awaited.promise;
    },
    async end(): Promise<{ records: number; sha256: string }> {
      compress.end();
      await written;
      return { records, sha256: hash.digest('hex') };
    },
  };
}

/** Reads the records of a topic in their order. @throws BackupError, what `onRecord` throws */
export async function readTopicFile(
  folder: string,
  topic: string,
  onRecord: (record: StoredRecord) => Promise<void>,
): Promise<void> {
  await pipeline(
    createReadStream(fileOf(folder, topic)),
    createZstdDecompress(),
    async (bytes: AsyncIterable<Buffer>) => {
      let pending: Buffer[] = [];
      for await (let chunk of bytes) {
        for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE)) {
          pending.push(chunk.subarray(0, end));
          await onRecord(recordOf(Buffer.concat(pending).toString('utf8'), topic));
          pending = [];
          chunk = chunk.subarray(end + 1);
        }
        if (chunk.length > 0) pending.push(chunk);
      }
      if (pending.length > 0)
        throw new BackupError('backup_damaged', `the file of ${topic} ends in the middle of a record`);
    },
  );
}

function recordOf(line: string, topic: string): StoredRecord {
  try {
    const read: unknown = JSON.parse(line);
    const [partition, key, value] = Array.isArray(read) ? (read as unknown[]) : [];
    const isKey = key === null || typeof key === 'string';
    if (Number.isSafeInteger(partition) && isKey && (value === null || typeof value === 'string')) {
      return { partition: Number(partition), key, value: value === null ? null : Buffer.from(value, 'base64') };
    }
  } catch {
    // Said below.
  }
  throw new BackupError('backup_damaged', `the file of ${topic} has a line that is no record`);
}

/** Looks whether every file is there and as it was written. @throws BackupError */
export async function checkFiles(folder: string, { topics }: Pick<Manifest, 'topics'>): Promise<void> {
  for (const [topic, { sha256 }] of Object.entries(topics)) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(fileOf(folder, topic)), hash).catch(() => {
      throw new BackupError('backup_damaged', `the file of ${topic} cannot be read`);
    });
    if (hash.digest('hex') !== sha256) throw new BackupError('backup_damaged', `the file of ${topic} was changed`);
  }
}
