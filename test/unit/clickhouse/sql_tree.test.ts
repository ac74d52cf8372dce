import { expect, test } from 'vitest';
import { statementOf } from '#infra/clickhouse/queries/sql_query.ts';

test('a statement loses the blanks around it and the semicolons behind it', () => {
  expect(statementOf(' \nSELECT 1; 2 ;\t; \u00a0')).toBe('SELECT 1; 2');
  expect(statementOf(' ; ')).toBe('');
});
