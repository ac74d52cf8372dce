import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeManifest } from '#services/cli/backup/archive.ts';
import { outdated, pruneBackups } from '#services/cli/backup/prune.ts';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
const NOW_MS = 100 * DAY_MS;

const finished = (name: string, days: number, hasRows = false) => ({
  ...{ name, takenAtMs: NOW_MS - days * DAY_MS, hasRows, changedAtMs: NOW_MS - days * DAY_MS + HOUR_MS },
});
const begun = (name: string, hours: number) => ({
  ...{ name, takenAtMs: null, hasRows: false, changedAtMs: NOW_MS - hours * HOUR_MS },
});

test.each([
  ['what is older than so many days', [finished('a', 31), finished('b', 30), finished('c', 1)], ['a']],
  ['what is older, but for the newest', [finished('a', 90), finished('b', 31)], ['a']],
  ['nothing where there is no newer one that is finished', [finished('a', 90), begun('b', 0)], []],
  ['none with rows for one without', [finished('a', 90, true), finished('b', 80, true), finished('c', 1)], ['a']],
  ['one without rows for one with', [finished('a', 90), finished('b', 80, true)], ['a']],
  ['what nobody finishes any more', [begun('a', 13), begun('b', 11), finished('c', 1)], ['a']],
  ['what was never finished also where nothing was', [begun('a', 13)], ['a']],
  ['nothing of nothing', [], []],
])('deletes %s', (_, folders, names) => {
  expect(outdated(folders, 30, NOW_MS)).toEqual(names);
});

test('leaves what is no backup, and what it cannot read', async () => {
  const root = mkdtempSync(join(tmpdir(), 'prune-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const make = (name: string, files: readonly string[]): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    for (const file of files) writeFileSync(join(folder, file), '{');
    for (const path of [...files.map((file) => join(folder, file)), folder]) utimesSync(path, 1, 1);
    return folder;
  };
  const manifest = { version: '1', topics: {}, clickhouse: null, keys: { identity: '', sealing: [] } };
  await writeManifest(make('old', ['links.ndjson.zst']), { ...manifest, taken_at: NOW_MS - 40 * DAY_MS });
  await writeManifest(make('new', ['links.ndjson.zst']), { ...manifest, taken_at: NOW_MS - DAY_MS });
  make('unfinished', ['links.ndjson.zst', 'backup.json.new']);
  make('empty', []);
  make('damaged', ['backup.json']);
  make('lost+found', ['#12']);
  writeFileSync(join(root, 'a file'), '');
  expect((await pruneBackups(root, 30, NOW_MS)).toSorted()).toEqual(['empty', 'old', 'unfinished']);
  expect(readdirSync(root).toSorted()).toEqual(['a file', 'damaged', 'lost+found', 'new']);
  await expect(pruneBackups(join(root, 'none'), 30, NOW_MS)).rejects.toMatchObject({ code: 'folder_missing' });
});
