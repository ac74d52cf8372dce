import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { page, tableRows } from './page.ts';

const ROOT = new URL('../../../', import.meta.url);
const text = page('spec-coverage.md');
const rows = tableRows(text).map((row) => {
  const [rule = '', held = ''] = row.split(' | ');
  return { rule, held };
});

/** A file in code marks, then titles in quotes. */
const REFERENCE = /`([^`]+)`((?:,? ?"[^"]+")+)/g;
const NOT_BUILT = '_not built_';

/** The places of a cell: each file with each title named after it. */
function placesOf(held: string): { file: string; title: string }[] {
  return [...held.matchAll(REFERENCE)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  );
}

test('every rule names a test, or is said not to be built', () => {
  expect(rows.length).toBeGreaterThan(80);
  expect(rows.filter(({ held }) => held !== NOT_BUILT && placesOf(held).length === 0)).toEqual([]);
});

test('nothing stands in a cell beside the tests that it names', () => {
  const rest = rows.map(({ rule, held }) => [rule, held.replaceAll(REFERENCE, '').replaceAll(/[; ]/g, '')]);
  expect(rest.filter(([, left]) => left !== '' && left !== NOT_BUILT.replaceAll(' ', ''))).toEqual([]);
});

test.for(rows.filter(({ held }) => held !== NOT_BUILT))('$rule: its tests are there', ({ held }) => {
  const missing = placesOf(held).filter(({ file, title }) => {
    const source = readFileSync(new URL(file, ROOT), 'utf8');
    return !["'", '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
  });
  expect(missing).toEqual([]);
});

test('every end-to-end test that is named by a section is in the table', () => {
  const files = readdirSync(new URL('test/e2e', ROOT)).filter((name) => /^\d.*\.test\.ts$/.test(name));
  expect(files.filter((name) => !text.includes(`\`test/e2e/${name}\``))).toEqual([]);
});

test.for(['1.', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '3.', '4.', '5.', '6.', '7.', '8.', '9.'])(
  'section %s of the specification is there',
  (section) => {
    expect(text).toMatch(new RegExp(`^## ${section.replaceAll('.', '\\.')} `, 'm'));
  },
);
