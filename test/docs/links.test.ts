import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { anchorsIn } from '#test/harness/headings.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const FENCED = /^ *```[\s\S]*?^ *```$/gm;

const textOf = (url: URL): string => readFileSync(url, 'utf8').replace(FENCED, '');

function isThere(target: string, from: URL): boolean {
  const [path = '', fragment] = target.split('#');
  const url = path === '' ? from : new URL(path, from);
  if (!existsSync(url)) return false;
  if (fragment === undefined) return true;
  return anchorsIn(textOf(url)).has(fragment);
}

test.for(PAGES)('every link of %s leads somewhere', (name) => {
  const from = new URL(name, ROOT);
  const targets = [...textOf(from).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !isThere(target, from))).toEqual([]);
});
