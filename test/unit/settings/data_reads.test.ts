import { expect, test } from 'vitest';
import { createDataReadEntries, type OneRead } from '#pipelines/settings/audit.ts';

const MINUTE_MS = 60_000;
const read = (changes: Partial<OneRead> = {}): OneRead => ({
  ...{ read_by: 'user:ada', site_id: 'shop', kind: 'timeline', format: 'json', rows: 3 },
  ...changes,
});
const brief = (entries: readonly { read_by: string; kind: string; reads: number; rows: number | null }[]): string[] =>
  entries.map(({ read_by, kind, reads, rows }) => `${read_by} ${kind} ${reads} ${rows}`);

test('the first reading is an entry at once, and those of ten minutes after it come to one more', () => {
  const entries = createDataReadEntries();
  expect(entries.add(read(), 0)).toEqual([{ ...read(), first_at: 0, last_at: 0, reads: 1 }]);
  expect(entries.add(read({ rows: 4 }), MINUTE_MS)).toEqual([]);
  expect(entries.add(read({ rows: 5 }), 2 * MINUTE_MS)).toEqual([]);
  expect(entries.due(10 * MINUTE_MS - 1)).toEqual([]);
  const followed = { first_at: MINUTE_MS, last_at: 2 * MINUTE_MS, reads: 2, rows: 9 };
  expect(entries.due(10 * MINUTE_MS)).toEqual([{ ...read(), ...followed }]);
  expect(brief(entries.add(read(), 11 * MINUTE_MS))).toEqual(['user:ada timeline 1 3']);
});

test.each([{ read_by: 'user:eve' }, { site_id: 'other' }, { kind: 'sql' }, { format: 'csv' }])(
  'a reading with %o is one of its own',
  (other) => {
    const entries = createDataReadEntries();
    entries.add(read(), 0);
    expect(entries.add(read(other), 1)).toHaveLength(1);
  },
);

test('rows that were not counted once are not known of all, and what was counted is written at the end', () => {
  const entries = createDataReadEntries();
  for (const rows of [1, null, 2]) entries.add(read({ rows }), 0);
  entries.add(read({ kind: 'sql' }), 0);
  expect(brief(entries.rest())).toEqual(['user:ada timeline 2 null']);
  expect(entries.rest()).toEqual([]);
});

test('no more than 5,000 are counted: the oldest is written before its time, and none is lost', () => {
  const entries = createDataReadEntries();
  const written = [...entries.add(read(), 0), ...entries.add(read(), 0)];
  for (let site = 0; site < 5_000; site++) written.push(...entries.add(read({ site_id: `s${site}` }), 1));
  written.push(...entries.add(read(), 1), ...entries.rest());
  expect(written.filter(({ site_id }) => site_id === 'shop').map(({ reads }) => reads)).toEqual([1, 1, 1]);
  expect(written).toHaveLength(5_003);
});
