import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { SendError } from '#services/cli/import/edge_client.ts';
import { noCounts } from '#services/cli/import/progress.ts';
import { watchFolder } from '#services/cli/import/watch_folder.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'import-watch-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

const namesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name !== 'done' && name !== 'failed')
    .sort();

/** Watches until all files are done; each look is told to `onLook`, and each file that is taken to `take`. */
async function watched(
  folder: string,
  take: (name: string) => void = () => undefined,
  onLook: (look: number) => void = () => undefined,
) {
  const taken: string[] = [];
  const said: string[] = [];
  let looks = 0;
  const counts = await watchFolder(folder, {
    everyMs: 1,
    isOnce: true,
    keepsDone: true,
    fetchNew: async () => ({ hasMore: false, left: 0 }),
    say: (line) => void said.push(line),
    sleep: async () => onLook(++looks),
    onImported: (_path, { errorsPath }) => void said.push(`errors: ${errorsPath}`),
    async importOne(path) {
      take(basename(path));
      taken.push(basename(path));
      return {
        counts: noCounts(),
        errorsPath: join(folder, basename(path).replace('.csv', '.errors.csv')),
        finishedAt: null,
      };
    },
  });
  return { counts, taken, said };
}

test('files are taken in the order of their names, and moved with their errors', async () => {
  const folder = newFolder({
    'b.csv': 'b',
    'a.csv': 'a',
    'a.errors.csv': 'errors of a',
    'a.csv.progress.json': '{}',
    'gone.csv.progress.json': '{}',
    '.hidden.csv': '',
    'c.csv.part': '',
    'notes.pdf': '',
  });
  const { counts, taken, said } = await watched(folder);
  expect(taken).toEqual(['a.csv', 'b.csv']);
  expect(said).toEqual([
    'notes.pdf: it is left, as it is neither .csv, .tsv, .txt, .ndjson, .jsonl nor .parquet',
    `errors: ${join(folder, 'done', 'a.errors.csv')}`,
    `errors: ${join(folder, 'b.errors.csv')}`,
  ]);
  expect(counts).toEqual({ imported: 2, failed: 0, waiting: 0 });
  expect(namesIn(join(folder, 'done'))).toEqual(['a.csv', 'a.errors.csv', 'b.csv']);
  expect(namesIn(folder)).toEqual(['.hidden.csv', 'c.csv.part', 'notes.pdf']);
});

test('a file that grows is left until it has stopped', async () => {
  const folder = newFolder({ 'a.csv': '1' });
  let size = '';
  const { taken } = await watched(
    folder,
    (name) => {
      size = readFileSync(join(folder, name), 'utf8');
    },
    (look) => {
      if (look < 4) writeFileSync(join(folder, 'a.csv'), '1'.repeat(look + 1));
    },
  );
  expect(taken).toEqual(['a.csv']);
  expect(size).toBe('1111');
});

test('a file that grows while it is read is read again, whatever came of it', async () => {
  const folder = newFolder({ 'a.csv': '1' });
  const sizes: string[] = [];
  const { counts, taken } = await watched(folder, (name) => {
    sizes.push(readFileSync(join(folder, name), 'utf8'));
    if (sizes.length < 3) writeFileSync(join(folder, name), '1'.repeat(sizes.length + 1));
    if (sizes.length === 2) throw new UsageError('file_changed', 'changed');
  });
  expect([taken, sizes, counts.imported, counts.failed]).toEqual([['a.csv', 'a.csv'], ['1', '11', '111'], 1, 0]);
  expect(namesIn(join(folder, 'done'))).toEqual(['a.csv']);
});

test('a file that cannot be imported goes aside with the reason, under a name that is free', async () => {
  const folder = newFolder({ 'a.csv': '', 'b.csv': '' });
  const take = (name: string): void => {
    if (name === 'a.csv') throw new UsageError('header_missing', 'no header');
  };
  await watched(folder, take);
  writeFileSync(join(folder, 'a.csv'), '');
  expect((await watched(folder, take)).counts).toEqual({ imported: 0, failed: 1, waiting: 0 });
  expect(namesIn(join(folder, 'failed'))).toEqual(['a.2.csv', 'a.2.csv.reason.txt', 'a.csv', 'a.csv.reason.txt']);
  expect(readFileSync(join(folder, 'failed', 'a.csv.reason.txt'), 'utf8')).toBe('header_missing: no header\n');
  expect(namesIn(join(folder, 'done'))).toEqual(['b.csv']);
});

test('what the edge does not take now stays, with how far it is', async () => {
  const folder = newFolder({ 'a.csv': '', 'a.csv.progress.json': '{}', 'b.csv': '' });
  const { counts, taken } = await watched(folder, () => {
    throw new SendError('overloaded', 'away');
  });
  expect([counts, taken]).toEqual([{ imported: 0, failed: 0, waiting: 2 }, []]);
  expect(namesIn(folder)).toEqual(['a.csv', 'a.csv.progress.json', 'b.csv']);
});

test('one process has a folder, unless that is gone', async () => {
  const folder = newFolder({ 'a.csv': '', '.import.lock': '1' });
  await expect(watched(folder)).rejects.toMatchObject({ code: 'folder_taken' });
  // No process has a number as high.
  writeFileSync(join(folder, '.import.lock'), String(2 ** 30));
  expect((await watched(folder)).taken).toEqual(['a.csv']);
  expect(existsSync(join(folder, '.import.lock'))).toBe(false);
  await expect(watched(join(folder, 'none'))).rejects.toMatchObject({ code: 'folder_unknown' });
});
