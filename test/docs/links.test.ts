import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const FENCED = /^ *```[\s\S]*?^ *```$/gm;

const textOf = (url: URL): string => readFileSync(url, 'utf8').replace(FENCED, '');

/** The fragment of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function isThere(target: string, from: URL): boolean {
  const [path = '', fragment] = target.split('#');
  const url = path === '' ? from : new URL(path, from);
  if (!existsSync(url)) return false;
  if (fragment === undefined) return true;
  return [...textOf(url).matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => anchorOf(heading) === fragment);
}

test.for(PAGES)('every link of %s leads somewhere', (name) => {
  const from = new URL(name, ROOT);
  const targets = [...textOf(from).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !isThere(target, from))).toEqual([]);
});
