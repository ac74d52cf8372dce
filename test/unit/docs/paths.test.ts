import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Targets of links to files, from the page's own place. */
function linkedFrom(path: string, text: string): string[] {
  return [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => join(dirname(path), target));
}

/** Paths of our own folders that stand in code marks. */
function namedIn(text: string): string[] {
  return [...text.matchAll(/`((?:schemas|pipelines|infra|services|test|docs|\.ci)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  );
}

/** Names of files that stand in code marks without their folders. */
function fileNamesIn(text: string): string[] {
  return [...text.matchAll(/`([a-z_]+\.(?:ts|lua))`/g)].map(([, name = '']) => name);
}

const fileNames = new Set(
  ['schemas', 'pipelines', 'infra', 'services', 'test'].flatMap((root) =>
    readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
  ),
);

test.for(PAGES)('every file name in %s is that of a file', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  expect(fileNamesIn(text).filter((name) => !fileNames.has(name))).toEqual([]);
});

test.for(PAGES)('every file that %s links to or names is there', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const missing = [...linkedFrom(path, text), ...namedIn(text)].filter((target) => !existsSync(join(ROOT, target)));
  expect(missing).toEqual([]);
});
