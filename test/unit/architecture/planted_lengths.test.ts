import { expect, test } from 'vitest';
import { type Lengths, lengthViolationsOf } from './lengths.ts';
import { moduleOf } from './source.ts';

const lines = (count: number): string => ';\n'.repeat(count);
const declared = (count: number): string => `function long() {\n${lines(count - 2)}}\n`;

const PLANTED: [violations: string[], path: string, source: string, known: Lengths][] = [
  [['infra/a.ts has 301 lines, which is too long'], 'infra/a.ts', lines(301), {}],
  [['services/a.ts has 301 lines, which is too long'], 'services/a.ts', `${lines(300)};`, {}],
  [['infra/a.ts long has 71 lines, which is too long'], 'infra/a.ts', declared(71), {}],
  [['pipelines/a.ts long has 71 lines, which is too long'], 'pipelines/a.ts', `${declared(71)}${declared(2)}`, {}],
  [['infra/a.ts held has 71 lines, which is too long'], 'infra/a.ts', `const held = () => {\n${lines(69)}};`, {}],
  [['infra/a.ts held has 71 lines, which is too long'], 'infra/a.ts', `const a = { held() {\n${lines(69)}} };`, {}],
  [['infra/a.ts held has 71 lines, which is too long'], 'infra/a.ts', `class A { held() {\n${lines(69)}} }`, {}],
  [['infra/a.ts argument of run has 71 lines, which is too long'], 'infra/a.ts', `run(() => {\n${lines(69)}});`, {}],
  [['infra/a.ts grew from 310 to 311 lines'], 'infra/a.ts', lines(311), { 'infra/a.ts': 310 }],
  [['infra/a.ts long grew from 80 to 81 lines'], 'infra/a.ts', declared(81), { 'infra/a.ts long': 80 }],
  [['infra/a.ts has 309 lines: list that'], 'infra/a.ts', lines(309), { 'infra/a.ts': 310 }],
  [['infra/a.ts is not too long any more: take it from the list'], 'infra/a.ts', lines(300), { 'infra/a.ts': 310 }],
  [['infra/a.ts gone is not too long any more: take it from the list'], 'infra/a.ts', '', { 'infra/a.ts gone': 80 }],
  [[], 'infra/a.ts', `${declared(70)}${lines(230)}`, {}],
  [[], 'infra/a.ts', lines(310), { 'infra/a.ts': 310 }],
  [[], 'test/a.ts', declared(400), {}],
];

test.for(PLANTED)('%j: %s', ([violations, path, source, known]) => {
  expect(lengthViolationsOf([moduleOf(path, source)], known)).toEqual(violations);
});
