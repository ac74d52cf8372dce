import { expect, test } from 'vitest';
import { statementOf } from '#infra/clickhouse/sql_tree.ts';

const CHARACTERS = 100_000;
const SOON_MS = 500;

test('a statement loses the blanks around it and the semicolons behind it', () => {
  expect(statementOf(' \nSELECT 1; 2 ;\t; \u00a0')).toBe('SELECT 1; 2');
  expect(statementOf(' ; ')).toBe('');
});

test.for([' ', ';'])('as many of them as a statement may have are soon read: "%s"', (one) => {
  const before = performance.now();
  statementOf(`a${one.repeat(CHARACTERS)}b`);
  expect(performance.now() - before).toBeLessThan(SOON_MS);
});
