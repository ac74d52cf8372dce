import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { page, section, tableRows } from './page.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['services', 'infra', 'pipelines'];

const sources = FOLDERS.flatMap((folder) => {
  const url = new URL(`${folder}/`, ROOT);
  return readdirSync(url, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, url), 'utf8'));
}).join('\n');

const codesOf = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** Whether a source has the line as a whole text; one that begins with dots as the end of a template. */
const isLogged = (line: string): boolean =>
  sources.includes(line.startsWith('...') ? `}${line.slice(3)}\`` : `'${line}'`);

test('every line of the table of log lines stands in a source', () => {
  const lines = tableRows(section('operations.md', 'Logs')).flatMap((row) => codesOf(row.split(' | ')[0] ?? ''));
  expect(lines).toContain('ready');
  expect(lines.filter((line) => !isLogged(line))).toEqual([]);
});

test.for(['operations.md', 'configuration.md'])('every log line that %s names stands in a source', (name) => {
  const lines = [...page(name).matchAll(/\blog(?:s| line) `([^`]+)`/g)].map(([, line = '']) => line);
  expect(lines).not.toEqual([]);
  expect(lines.filter((line) => !isLogged(line))).toEqual([]);
});
