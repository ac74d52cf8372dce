import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTANTS, type Mutant } from '#test/mutants/mutants.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('every planted fault finds its place once', () => {
  const times = ({ path, before }: Mutant): number => readFileSync(ROOT + path, 'utf8').split(before).length - 1;
  expect(MUTANTS.filter((mutant) => times(mutant) !== 1).map(({ name }) => name)).toEqual([]);
});
