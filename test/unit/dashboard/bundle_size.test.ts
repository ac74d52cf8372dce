import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleApp } from '#infra/bundler/bundle.ts';

const ENTRY = fileURLToPath(import.meta.resolve('#services/dashboard/src/main.tsx'));
const FIRST = fileURLToPath(import.meta.resolve('#services/dashboard/src/pages/overview/overview_page.tsx'));
/** The digits of currencies (ISO 4217) and what revenue is made of are 440 bytes of it, what charts are saved from 500, visits and the time before 640: to fetch them apart would take a request more. */
const FIRST_PAGE_BYTES_MAX = 62_750;
const STYLE_BYTES_MAX = 16_000;

/** What a script imports at once, wherever it came from. */
const IMPORTED = /(?:from|import)\s*"\.\/([^"]+)"/g;

test('everything on the first page, with the first chart, is at most 62.75 kB of JavaScript', async () => {
  const { files, script, style, preloads } = await bundleApp(ENTRY, [FIRST]);
  const byName = new Map(files.map(({ name, bytes }) => [name, bytes]));
  const gzipped = (name: string): number => gzipSync(byName.get(name) ?? '', { level: 9 }).length;
  const drawing = files.filter(({ name }) => /^(uplot_chart|overview_page)\./.test(name)).map(({ name }) => name);
  const first = new Set<string>();
  const load = (name: string): void => {
    if (first.has(name)) return;
    first.add(name);
    const source = new TextDecoder().decode(byName.get(name));
    for (const [, other = ''] of source.matchAll(IMPORTED)) load(other);
  };
  for (const name of [script, ...preloads, ...drawing]) load(name);
  expect(drawing).toHaveLength(2);
  expect([...first].every((name) => byName.has(name))).toBe(true);
  expect([...first].reduce((sum, name) => sum + gzipped(name), 0)).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  expect(gzipped(style ?? '')).toBeLessThanOrEqual(STYLE_BYTES_MAX);
});
