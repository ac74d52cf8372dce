import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Lock {
  packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
}

const lock = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as Lock;
const entries = Object.entries(lock.packages);

it('holds every optional package that the lock file names, as npm ci demands', () => {
  const held = new Set(entries.map(([key]) => key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)));
  const missing = entries.flatMap(([key, { optionalDependencies = {} }]) =>
    key === '' ? [] : Object.keys(optionalDependencies).filter((name) => !held.has(name)),
  );
  expect(missing, 'run node services/local/trim-lock.mjs').toEqual([]);
});

it('names no address that a package is downloaded from', () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([key]) => key)).toEqual([]);
});
