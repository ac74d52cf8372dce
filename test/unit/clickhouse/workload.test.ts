import { expect, test } from 'vitest';
import { newQueryId, readQueryId } from '#infra/clickhouse/queries/running_queries.ts';
import { levelOf, SQL_WORKLOAD, workloadOf } from '#infra/clickhouse/queries/select_rows.ts';

test('a query gives way to those that read a fourth of its rows, and SQL to all', () => {
  const millions = [0, 0.5, 1, 1.1, 4, 4.1, 16, 17, 64, 65, 5_000];
  expect(millions.map((rows) => levelOf(rows * 1e6))).toEqual([0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
  expect(levelOf(null)).toBe(2);
  expect(workloadOf(0)).toMatchObject({ priority: 1, os_threads_nice_value_query: 0 });
  expect(SQL_WORKLOAD).toMatchObject({ priority: 5, os_threads_nice_value_query: 16 });
});

test('the id of a query says whose it is, whatever the label is made of', () => {
  const name = { siteId: 'shop', kind: 'funnel', askedBy: 'Zoë: on call' };
  const id = newQueryId(name);
  expect(id).toMatch(/^shop:funnel:[\w-]+:[0-9a-f-]{36}$/);
  expect(readQueryId(id)).toEqual({ ...name, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(newQueryId(name)).not.toBe(id);
});

test.each([
  '',
  'shop',
  'shop:funnel:eA:1',
  'shop::eA:5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01',
  '5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01',
])('an id that we did not give is nobody’s: %s', (id) => {
  expect(readQueryId(id)).toBeNull();
});
