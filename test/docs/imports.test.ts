import { expect, test } from 'vitest';
import { readMappingFile } from '#services/cli/import/mapping.ts';
import { ROW_PROBLEMS } from '#services/cli/import/row_event.ts';
import { COMMANDS } from '#services/cli/run_cli.ts';
import { page, section } from './page.ts';

test('the page has every code of a row, and no other', () => {
  const [, list = ''] = section('imports.md', 'Errors').split('\n\n').slice(1);
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, code]) => code);
  expect(named).toEqual(Object.keys(ROW_PROBLEMS));
});

test('the mapping file of the page can be read', () => {
  const [, json = ''] = /```json\n(.*?)```/s.exec(page('imports.md')) ?? [];
  expect(readMappingFile(JSON.parse(json), 'till.json')).toMatchObject({ dates: 'dmy', negative: 'refund' });
});

test('the options of the page are those of the commands', () => {
  const usages = [
    'import run <FILE>',
    'import watch <FOLDER>',
    'import history [FILE...]',
    'export run',
    'site create <SITE>',
  ];
  const options = usages.flatMap((usage) => COMMANDS[usage]?.options ?? []);
  const known = new Set(options.map(({ long }) => long));
  const named = [...page('imports.md').matchAll(/--[a-z][a-z-]*/g)].map(([name]) => name);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
