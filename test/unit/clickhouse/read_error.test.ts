import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { readError } from '#infra/clickhouse/client.ts';

const refused = (code: string, type: string) => readError(new ClickHouseError({ code, type, message: 'a secret row' }));

const OF_ROWS = { 6: 'CANNOT_PARSE_TEXT', 53: 'TYPE_MISMATCH', 70: 'CANNOT_CONVERT_TYPE', 349: 'CANNOT_INSERT_NULL' };

/** What a migration that is missing, a table that is restored and a statement that is wrong say. */
const OF_TABLES = {
  16: 'NO_SUCH_COLUMN_IN_TABLE',
  20: 'NUMBER_OF_COLUMNS_DOESNT_MATCH',
  43: 'ILLEGAL_TYPE_OF_ARGUMENT',
  47: 'UNKNOWN_IDENTIFIER',
  60: 'UNKNOWN_TABLE',
  62: 'SYNTAX_ERROR',
  81: 'UNKNOWN_DATABASE',
  218: 'TABLE_IS_DROPPED',
};

const OF_SERVERS = { 241: 'MEMORY_LIMIT_EXCEEDED', 252: 'TOO_MANY_PARTS', 242: 'TABLE_IS_READ_ONLY' };

test.each([
  ...Object.entries(OF_ROWS).map((of) => [...of, 'warehouse_refused', 'stop'] as const),
  ...Object.entries(OF_TABLES).map((of) => [...of, 'warehouse_mismatch', 'wait'] as const),
  ...Object.entries(OF_SERVERS).map((of) => [...of, 'warehouse_unavailable', 'again'] as const),
])('error %s %s is %s', (code, type, ours, recovery) => {
  expect(refused(code, type)).toMatchObject({ code: ours, recovery, message: `clickhouse: ${code} ${type}` });
});
