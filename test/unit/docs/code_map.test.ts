import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Folders with files of their own, from the root. Below `test` they mirror the others. */
function folders(): string[] {
  const found = ['schemas', 'pipelines', 'infra', 'services'].flatMap((root) =>
    readdirSync(join(ROOT, root), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath }) => parentPath.slice(ROOT.length)),
  );
  const tests = readdirSync(join(ROOT, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `test/${name}`);
  return [...new Set([...found, ...tests])];
}

test('the code map names every folder, or says with a star that there is one for each', () => {
  const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const named = new Set([...page.matchAll(/`([\w/]+\/\*?)`/g)].map(([, path]) => path));
  const unnamed = folders().filter((folder) => !named.has(`${folder}/`) && !named.has(`${dirname(folder)}/*`));
  expect(unnamed).toEqual([]);
});
