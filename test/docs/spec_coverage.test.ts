import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { page, tableRows } from './page.ts';

const ROOT = new URL('../../', import.meta.url);
const text = page('spec-coverage.md');
const NOT_BUILT = '_not built_';

/** The tests that a row names: a file in code marks, then titles in quotes. */
function testsIn(held: string): { file: string; title: string }[] {
  return [...held.matchAll(/`([^`]+)`((?:,? ?"[^"]+")+)/g)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  );
}

function isThere(file: string, title: string): boolean {
  const path = new URL(file, ROOT);
  const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return ["'", '`', '"'].some((quote) => source.includes(`${quote}${title}${quote}`));
}

test('every rule of the specification names tests that are there, or is said not to be built', () => {
  const rows = tableRows(text).map((row) => row.split(' | '));
  expect(rows.length).toBeGreaterThan(80);
  const problems = rows.flatMap(([rule = '', held = '']) => {
    if (held === NOT_BUILT) return [];
    const tests = testsIn(held);
    if (tests.length === 0) return [`${rule}: names no test`];
    return tests.flatMap(({ file, title }) => (isThere(file, title) ? [] : [`${rule}: ${file} has no "${title}"`]));
  });
  expect(problems).toEqual([]);
});

test('every end-to-end test that is named by a section is in the table', () => {
  const files = readdirSync(new URL('test/e2e', ROOT)).filter((name) => /^\d.*\.test\.ts$/.test(name));
  expect(files.filter((name) => !text.includes(`\`test/e2e/${name}\``))).toEqual([]);
});
