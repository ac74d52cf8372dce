import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Packages, violationsOf } from './rules.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FOLDERS = ['schemas', 'pipelines', 'infra', 'services', 'test'];
const MODULE = /\.[cm]?[jt]s$/;

test('every module imports one way, vendors only at home, and reads process.env only in configuration', () => {
  const packages = listedPackages();
  const modules = FOLDERS.flatMap(modulesOf);
  expect(modules.length).toBeGreaterThan(200);
  expect(modules.flatMap((path) => violationsOf(path, readFileSync(ROOT + path, 'utf8'), packages))).toEqual([]);
});

function modulesOf(folder: string): string[] {
  return readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => MODULE.test(name))
    .map((name) => `${folder}/${name}`);
}

function listedPackages(): Packages {
  const text = readFileSync(`${ROOT}package.json`, 'utf8');
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(text) as Record<string, object>;
  return {
    shipped: new Set(Object.keys({ ...dependencies, ...optionalDependencies })),
    development: new Set(Object.keys({ ...devDependencies })),
  };
}
