import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { declareTopics } from '#infra/kafka/topics.ts';
import { section, tableRows } from './page.ts';

const ROOT = new URL('../../../', import.meta.url);

const cellsOf = (heading: string): string[][] =>
  tableRows(section('GLOSSARY.md', heading)).map((row) => row.split(' | '));

/** What stands in code marks and matches. */
const namedIn = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).filter((name) => pattern.test(name));

const filesIn = (text: string): string[] => namedIn(text, /^[a-z]+\/[\w./-]+$/);
const textOf = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

test.for(cellsOf('Where a change goes'))('%s: the file to open first is there', ([, first = '']) => {
  const files = filesIn(first);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});

test('what a row says to change in a file is in every file it names', () => {
  const said = cellsOf('Where a change goes').map(([, first = '']) => ({
    names: namedIn(first, /^[A-Za-z_]+$/),
    files: / in `/.test(first) ? filesIn(first) : [],
  }));
  const missing = said.flatMap(({ names, files }) =>
    files.flatMap((path) => names.filter((name) => !textOf(path).includes(name)).map((name) => `${name} in ${path}`)),
  );
  expect(said.filter(({ files }) => files.length > 0).length).toBeGreaterThan(3);
  expect(missing).toEqual([]);
});

test('each function that runs a stage is exported by the file it is said to be in', () => {
  const missing = cellsOf('The functions that run a stage').filter(([name = '', path = '']) => {
    const [file = ''] = filesIn(path);
    return !new RegExp(`export (async )?function ${name.replaceAll('`', '')}\\b`).test(textOf(file));
  });
  expect(missing).toEqual([]);
});

test('each topic that a stage reads or writes is a topic of the service', () => {
  const topics = declareTopics(1, ['NAME']).map(({ name }) => name);
  const named = cellsOf('What each stage guarantees').flatMap(([, reads = '', writes = '', , order = '']) =>
    namedIn(`${reads} ${writes} ${order}`, /^[\w.]+(\.\*)?$/),
  );
  const unknown = named.filter((name) => !topics.some((topic) => topic === name || matches(name, topic)));
  expect(named.length).toBeGreaterThan(15);
  expect(unknown).toEqual([]);
});

function matches(pattern: string, topic: string): boolean {
  return pattern.endsWith('.*') && topic.startsWith(pattern.slice(0, -1));
}
