import { expect, test } from 'vitest';
import { FORMULA_TEXT_MAX, readFormula, valueOfFormula } from '#pipelines/analytics/trends/formula.ts';

function computed(text: string, ...values: (number | null)[]): number | null {
  const read = readFormula(text, values.length);
  if (!read.ok) throw new Error(read.message);
  return valueOfFormula(read.formula, values);
}

test.for<[text: string, value: number | null]>([
  ['A', 12],
  ['A/B', 4],
  ['A - B - C', 7],
  ['A - (B - C)', 11],
  ['A / B / C', 2],
  ['(A-B) * 100 / A', 75],
  ['A + B * C', 18],
  ['-A + -(-B)', -9],
  ['2.5*C', 5],
  ['7', 7],
])('%s is worked out with the usual precedence', ([text, value]) => {
  expect(computed(text, 12, 3, 2)).toBe(value);
});

test.for(['A/B', 'A/(B-B)', '1/(A/B)', 'B/B', 'A+C', '-C', '1/(D*D)'])('%s has no value', (text) => {
  expect(computed(text, 1, 0, null, 1e300)).toBeNull();
});

test.for([
  ['', 'ends too early'],
  ['A +', 'ends too early'],
  ['(A', 'ends too early'],
  ['A B', 'at 3'],
  ['A)', 'at 2'],
  ['*A', 'at 1'],
  ['1.A', 'at 2'],
  ['A ^ 2', 'at 3'],
  ['A; DROP', 'at 2'],
  ['C', 'they are A to B'],
  ['a', 'they are A to B'],
  ['AB', 'they are A to B'],
  ['constructor', 'they are A to B'],
  ['('.repeat(31), 'deep'],
  ['-'.repeat(FORMULA_TEXT_MAX), 'deep'],
] as const)('%j is no formula: %s', ([text, message]) => {
  expect(readFormula(text, 2)).toEqual({ ok: false, message: expect.stringContaining(message) });
});

test('thirty levels of parentheses are read', () => {
  expect(computed(`${'('.repeat(30)}A${')'.repeat(30)}`, 5)).toBe(5);
});
