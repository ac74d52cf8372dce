import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
/** Every rule of the service's contract by section, and the tests that hold it: a file, then titles as they stand in the source. */
const text = readFileSync(new URL('contract_coverage.tsv', import.meta.url), 'utf8');

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

test('every rule of the contract names tests that exist', () => {
  const [, ...lines] = text.trimEnd().split('\n');
  const rows = lines.map((line) => line.split('\t'));
  expect(rows.length).toBeGreaterThan(80);
  const problems = rows.flatMap(([section = '', rule = '', held = '']) => {
    const tests = testsIn(held);
    if (tests.length === 0) return [`${section}, ${rule}: names no test`];
    return tests.flatMap(({ file, title }) =>
      isThere(file, title) ? [] : [`${section}, ${rule}: ${file} has no "${title}"`],
    );
  });
  expect(problems).toEqual([]);
});

test('every end-to-end test that is named by a section is in the table', () => {
  const files = readdirSync(new URL('test/e2e', ROOT)).filter((name) => /^\d.*\.test\.ts$/.test(name));
  expect(files.filter((name) => !text.includes(`\`test/e2e/${name}\``))).toEqual([]);
});
