import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PROBLEMS } from '#clients/node/src/problems.ts';

const PACKAGE = fileURLToPath(new URL('../../../clients/node/', import.meta.url));

/** What a module imports, itself and by others, but for types. */
function importsOf(file: string, seen = new Set<string>()): Set<string> {
  const source = readFileSync(file, 'utf8');
  for (const [, from = ''] of source.matchAll(/^(?:import|export)\s(?!type\s)[^'"]*?from\s'([^']+)'/gm)) {
    const path = from.startsWith('.') ? join(dirname(file), from) : from;
    if (seen.has(path)) continue;
    seen.add(path);
    if (from.startsWith('.')) importsOf(path, seen);
  }
  return seen;
}

const foreign = (entry: string): string[] =>
  [...importsOf(join(PACKAGE, 'src', entry))].filter((path) => !path.startsWith('/')).sort();

test('the client needs nothing of Node, and the journal only its files', () => {
  expect(foreign('client.ts')).toEqual([]);
  expect(foreign('journal.ts')).toEqual(['node:fs', 'node:os', 'node:path']);
});

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };

test('the package has no dependency, and the version of the service', () => {
  const manifest = manifestOf(PACKAGE);
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  expect(manifest.version).toBe(manifestOf(join(PACKAGE, '../..')).version);
  expect(readFileSync(join(PACKAGE, 'README.md'), 'utf8')).toContain(`event-ingest-client-${manifest.version}.tgz`);
});

test('README.md names every code, and no other', () => {
  const [, readme = ''] = readFileSync(`${PACKAGE}README.md`, 'utf8').split('\n## Codes\n');
  const lists = readme.split('\n- ').map((item) => item.split('**: ')[1] ?? '');
  const named = lists.flatMap((list) => [...list.matchAll(/`(\w+)`/g)].map(([, code]) => code));
  expect(new Set(named)).toEqual(new Set(Object.keys(PROBLEMS)));
});
