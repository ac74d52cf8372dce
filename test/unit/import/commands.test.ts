import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { linesOf } from '#services/cli/export.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { installation } from '#test/unit/cli/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'import-commands-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'sales.csv');
writeFileSync(
  path,
  'Bon;Datum;Betrag;E-Mail;Telefon;Filiale\n1;20.11.2026 10:00;5,00;jane.doe@example.com;+4915157829304;7\n2;x;5,00;;;\n',
);

test('a dry run shows the mapping, events without people, and errors, and leaves nothing behind', async () => {
  const { svc } = await installation();
  const { exitCode, stdout } = await svc(['import', path, '--site', 'shop', '--zone', 'Europe/Berlin', '--dry-run']);
  expect(exitCode).toBe(0);
  for (const part of [
    'order_id = Bon',
    '$action_source is physical_store',
    '"timestamp":"2026-11-20T09:00:00.000Z"',
    'line 3: time_unreadable: Datum: ',
    'not sent: Filiale',
    '2 rows: 1 to send, 0 repeated, 1 with errors',
  ]) {
    expect(stdout).toContain(part);
  }
  expect(stdout).not.toMatch(/jane\.doe|15157829304/);
  expect(readdirSync(folder)).toEqual(['sales.csv']);
});

test('what cannot be done is said by a code, and no key is shown', () =>
  checkAll<[string[], string]>(
    [
      [['import', join(folder, 'none.csv'), '--site', 'shop', '--dry-run'], 'file_unreadable'],
      [['import', path, '--dry-run'], 'flag_missing'],
      [['import', path, '--site', 'shop', '--zone', 'Mars/Base', '--dry-run'], 'zone_unknown'],
      [['import', path, '--site', 'shop', '--dates', 'german', '--dry-run'], 'flag_value_unknown'],
      [['import', path, '--site', 'shop', '--separator', '::', '--dry-run'], 'separator_malformed'],
      [['import', path, '--site', 'shop', '--map', 'value=Summe', '--dry-run'], 'column_unknown'],
      [['import', path, '--site', 'shop'], 'edge_unknown'],
      [['import', path, '--site', 'shop', '--edge', 'http://127.0.0.1:1'], 'key_missing'],
      [['import', path, '--site', 'shop', '--edge', 'http://127.0.0.1:1', '--key-file', 'key.txt'], 'key_malformed'],
      [['import', 'watch', 's3://Sales', '--site', 'shop', '--folder', folder], 'bucket_malformed'],
      [['import', 'watch', 's3://sales', '--site', 'shop'], 'flag_missing'],
      [['import', 'watch', 's3://sales', '--site', 'shop', '--folder', folder], 'bucket_keys_missing'],
      [['export', '--site', 'shop', '--from', 'now', '--to', '3d', '--out', folder], 'range_empty'],
      [['export', '--site', 'shop', '--from', '3d', '--out', join(path, 'folder')], 'file_failed'],
      [['export', '--site', 'shop', '--from', '3d', '--columns', 'email', '--out', folder], 'column_unknown'],
    ],
    async ([words, code]) => {
      const shop = await installation();
      shop.files.set('key.txt', 'svc_pk_secret');
      const { exitCode, stderr } = await shop.svc(words);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(new RegExp(`^svc: ${code}: .*\n$`))]);
      expect(stderr).not.toContain('secret');
    },
  ));

test('a line of an export has times in ISO 8601 and properties as what they are', () => {
  const columns = [
    { name: 'timestamp', type: "DateTime64(3, 'UTC')" },
    { name: 'value', type: 'Nullable(Float64)' },
    { name: 'properties', type: 'String' },
  ];
  expect(linesOf({ columns, rows: [['2026-11-27 08:00:00.000', null, '{"a":{"b":1}}']] })).toBe(
    '{"timestamp":"2026-11-27T08:00:00.000Z","value":null,"properties":{"a":{"b":1}}}\n',
  );
  expect(linesOf({ columns, rows: [] })).toBe('');
});
