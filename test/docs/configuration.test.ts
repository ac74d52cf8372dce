import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withTables } from '#test/docs/configuration_page.ts';
import { RIGHTS_FILES } from '#test/docs/rights_files.ts';
import { page } from './page.ts';

const ROOT = new URL('../../', import.meta.url);

test('the page is what npm run docs:configuration writes', () => {
  expect(page('configuration.md')).toBe(withTables(page('configuration.md')));
});

test('the files of docs/rights are the rights in code, and no others', () => {
  const names = readdirSync(new URL('docs/rights', ROOT));
  expect(Object.fromEntries(names.map((name) => [name, page(`rights/${name}`)]))).toEqual(RIGHTS_FILES);
});

/** `env['NAME']`, `environment().NAME` and the like: a variable read past the schemas. That of the process itself is held elsewhere. */
const READ_BY_NAME = /\benv(?:ironment\(\))?(?:\??\.\[|\[)['"`][A-Z]|\benv(?:ironment\(\))?\??\.[A-Z][A-Z0-9]*_/;

test('every variable is read through a schema of infra/config', () => {
  const past = ['infra', 'services', 'pipelines', 'schemas'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((path) => path.endsWith('.ts') && !path.startsWith('infra/config/'))
      .filter((path) => READ_BY_NAME.test(readFileSync(new URL(path, ROOT), 'utf8'))),
  );
  expect(past).toEqual([]);
});
