import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withTables } from '#test/docs/configuration_page.ts';
import { page } from './page.ts';

const ROOT = new URL('../../../', import.meta.url);

test('the page is what npm run docs:configuration writes', () => {
  expect(page('configuration.md')).toBe(withTables(page('configuration.md')));
});

test('a table that was changed by hand is made anew, and the text around it is kept', () => {
  const changed = page('configuration.md')
    .replace('`EDGE_PORT`', '`EDGE_PROT`')
    .replace('# Configuration', '# Settings');
  expect(withTables(changed)).toBe(page('configuration.md').replace('# Configuration', '# Settings'));
});

test.for(['<!-- variables: edge -->', '<!-- variables: secrets -->'])('a page without %s is refused', (place) => {
  expect(() => withTables(page('configuration.md').replace(place, ''))).toThrow('the page has places for');
});

/** `env['NAME']`, `environment().NAME` and the like: a variable read past the schemas. That of the process itself is held elsewhere. */
const READ_BY_NAME = /\benv(?:ironment\(\))?(?:\??\.\[|\[)['"`][A-Z]|\benv(?:ironment\(\))?\??\.[A-Z][A-Z0-9]*_/;

test.for(["env['A_B'] ?? null", "environment()['A_B']", 'environment().A_B', `env[\`A_\${name}\`]`])(
  '%s is found to read a variable past the schemas',
  (source) => {
    expect(source).toMatch(READ_BY_NAME);
  },
);

test('every variable is read through a schema of infra/config', () => {
  const past = ['infra', 'services', 'pipelines', 'schemas'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((path) => path.endsWith('.ts') && !path.startsWith('infra/config/'))
      .filter((path) => READ_BY_NAME.test(readFileSync(new URL(path, ROOT), 'utf8'))),
  );
  expect(past).toEqual([]);
});
