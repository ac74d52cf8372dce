import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTANTS, type Mutant } from '#test/mutants/mutants.ts';
import { graphViolationsOf, WITHOUT_ADAPTERS } from './graph_rules.ts';
import { importGraph } from './import_graph.ts';
import { type Packages, violationsOf } from './rules.ts';
import { moduleOf } from './source.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FOLDERS = ['schemas', 'pipelines', 'infra', 'services', 'test'];
const MODULE = /\.[cm]?[jt]sx?$/;

const modules = FOLDERS.flatMap(modulesOf).map((path) => moduleOf(path, readFileSync(ROOT + path, 'utf8')));

test('the modules are found', () => {
  expect(modules.length).toBeGreaterThan(200);
});

test('every module imports one way, vendors only at home, and reads process.env only in configuration', () => {
  const packages = listedPackages();
  expect(modules.flatMap((module) => violationsOf(module, packages))).toEqual([]);
});

test('no module reaches what it has nothing to do with, or itself again', () => {
  const graph = importGraph(modules);
  expect(WITHOUT_ADAPTERS.filter((main) => !graph.has(main))).toEqual([]);
  expect(graphViolationsOf(graph)).toEqual([]);
});

test('every planted fault finds its place once', () => {
  const times = ({ path, before }: Mutant): number => readFileSync(ROOT + path, 'utf8').split(before).length - 1;
  expect(MUTANTS.filter((mutant) => times(mutant) !== 1).map(({ name }) => name)).toEqual([]);
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
