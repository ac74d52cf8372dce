import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { page, tableRows } from './page.ts';

const ROOT = new URL('../../../', import.meta.url);

/** `text(env, 'NAME'`, `env['NAME']`, and a name with a computed middle, which counts as `<NAME>`. */
const READS = [
  /\b(?:text|integer|flag|list|secret)\(\s*\w+(?:\(\))?,\s*'([A-Z][A-Z0-9_]*)'/g,
  /\benv(?:ironment\(\))?\['([A-Z][A-Z0-9_]*)'\]/g,
  /\benv\[`([A-Z0-9_]*\$\{[^`]*\}[A-Z0-9_]*)`\]/g,
];

function variablesOf(source: string): string[] {
  return READS.flatMap((pattern) => [...source.matchAll(pattern)]).map(([, name = '']) =>
    name.replace(/\$\{.*\}/, '<NAME>'),
  );
}

function variablesRead(): Set<string> {
  const sources = ['infra', 'services'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(`${folder}/${name}`, ROOT), 'utf8')),
  );
  return new Set(sources.flatMap(variablesOf));
}

test.for([
  ["text(env, 'A_B', 'c')", 'A_B'],
  ["integer(\n  environment(),\n  'A_B', 1)", 'A_B'],
  ["env['A_B'] ?? null", 'A_B'],
  ["environment()['A_B']", 'A_B'],
  [`env[\`A_\${name.toUpperCase()}_B\`]`, 'A_<NAME>_B'],
] as const)('%s is found to read a variable', ([source, name]) => {
  expect(variablesOf(source)).toEqual([name]);
});

test('the page has every variable that is read, and no other', () => {
  const named = tableRows(page('configuration.md')).map((row) => (row.split(' | ')[0] ?? '').replaceAll('`', ''));
  expect(named.sort()).toEqual([...variablesRead()].sort());
});
