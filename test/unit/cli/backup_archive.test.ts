import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  checkFiles,
  type Manifest,
  makeFolder,
  openTopicFile,
  readManifest,
  readTopicFile,
  type StoredRecord,
  writeManifest,
} from '#services/cli/backup/archive.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const RECORDS: StoredRecord[] = [
  { partition: 0, key: 'a/b', value: Buffer.from([0, 1, 255, 10, 13]) },
  { partition: 1, key: null, value: null },
  { partition: 0, key: 'ü\n"', value: Buffer.alloc(3_000_000, 'x\n') },
  { partition: 0, key: '', value: Buffer.alloc(0) },
];

async function write(topic: string, records: readonly StoredRecord[]) {
  const file = openTopicFile(folder, topic);
  for (const record of records) await file.add(record);
  return { partitions: 2, schemas: {}, ...(await file.end()) };
}

async function read(topic: string): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  await readTopicFile(folder, topic, async (record) => void found.push(record));
  return found;
}

const manifestOf = (topics: Manifest['topics']): Omit<Manifest, 'format'> => ({
  ...{ version: '1.2.3', taken_at: 5, topics, clickhouse: null, keys: { identity: 'i', sealing: [] } },
});

test('records come back as they were written, in their order', async () => {
  const many = Array.from(
    { length: 20_000 },
    (_, at): StoredRecord => ({ partition: 0, key: String(at), value: null }),
  );
  const topics = { some: await write('some', RECORDS), none: await write('none', []), many: await write('many', many) };
  await writeManifest(folder, manifestOf(topics));
  const manifest = await readManifest(folder);
  expect(manifest).toMatchObject({ topics: { some: { records: 4 }, none: { records: 0 }, many: { records: 20_000 } } });
  await checkFiles(folder, manifest);
  expect(await read('some')).toEqual(RECORDS);
  expect(await read('none')).toEqual([]);
  expect(await read('many')).toEqual(many);
  await expect(makeFolder(folder)).rejects.toMatchObject({ code: 'folder_not_empty' });
});

test('a folder that is not whole is no backup', async () => {
  await expect(readManifest(folder)).rejects.toMatchObject({ code: 'backup_missing' });
  const topics = { some: await write('some', RECORDS) };
  await expect(readManifest(folder)).rejects.toMatchObject({ code: 'backup_missing' });
  appendFileSync(join(folder, 'some.ndjson.zst'), 'x');
  await expect(checkFiles(folder, { topics })).rejects.toMatchObject({ code: 'backup_damaged' });
  rmSync(join(folder, 'some.ndjson.zst'));
  await expect(checkFiles(folder, { topics })).rejects.toMatchObject({ code: 'backup_damaged' });
});

test('a manifest that cannot be read says whether a newer version wrote it', async () => {
  await writeManifest(folder, manifestOf({}));
  const path = join(folder, 'backup.json');
  const text = readFileSync(path, 'utf8');
  for (const [written, code] of [
    [text.replace('"format": 1', '"format": 2'), 'backup_newer'],
    [text.replace('"taken_at": 5', '"taken_at": "5"'), 'backup_damaged'],
    [text.slice(0, 20), 'backup_damaged'],
    ['null', 'backup_damaged'],
  ] as const) {
    writeFileSync(path, written);
    await expect(readManifest(folder)).rejects.toMatchObject({ code });
  }
});

test('lines that are no records, and a file that ends within one, are damage', async () => {
  for (const text of ['{}\n', '[0]\n', '["0","k",null]\n', '[0,1,null]\n', '[0,"k",5]\n', 'x\n', '[0,"k",null]']) {
    writeFileSync(join(folder, 'some.ndjson.zst'), zstdCompressSync(text));
    await expect(read('some'), text).rejects.toMatchObject({ code: 'backup_damaged' });
  }
});

test('a failure of who takes the records is passed on', async () => {
  await write('some', RECORDS);
  const failing = readTopicFile(folder, 'some', () => Promise.reject(new Error('no room')));
  await expect(failing).rejects.toThrow('no room');
});

test('partitions that are read side by side all go on when the file takes more', async () => {
  const file = openTopicFile(folder, 'some');
  const write = async (partition: number): Promise<void> => {
    for (let at = 0; at < 20_000; at++) await file.add({ partition, key: `k${at}`, value: Buffer.alloc(150, at) });
  };
  await Promise.all([write(0), write(1), write(2)]);
  expect((await file.end()).records).toBe(60_000);
  expect(await read('some')).toHaveLength(60_000);
});

test('a disk that takes no more is told of, and nothing waits for it', async () => {
  writeFileSync(join(folder, 'taken'), '');
  const file = openTopicFile(join(folder, 'taken'), 'some');
  const writing = (async () => {
    for (;;) await file.add({ partition: 0, key: 'k', value: Buffer.alloc(100_000, 'x') });
  })();
  await expect(writing).rejects.toMatchObject({ code: 'ENOTDIR' });
});
