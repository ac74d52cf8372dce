import { expect, test } from 'vitest';
import { formatOf } from '#services/control/queries/formats.ts';

test.for([
  ['text/csv;q=0.1, application/json', 'json'],
  ['application/vnd.apache.parquet; q=0.5, Text/CSV ; Q=0.7', 'csv'],
  ['text/csv;header=present;q=0.2, application/vnd.apache.parquet;q=0.3', 'parquet'],
  ['text/csv;q=0', 'json'],
  ['text/csv;q=0.000, application/vnd.apache.parquet;q=0.001', 'parquet'],
  ['text/csv, application/json', 'csv'],
  ['application/json, text/csv', 'json'],
  ['*/*, text/csv', 'csv'],
  ['*/*, text/csv;q=0.9', 'json'],
  ['text/*, application/json;q=0.9', 'csv'],
  ['text/csv;q=much', 'csv'],
  ['text/html', 'json'],
  ['', 'json'],
] as const)('Accept "%s" is answered in %s', ([accept, format]) => {
  expect(formatOf({}, accept)).toBe(format);
});
