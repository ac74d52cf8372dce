import { expect, test } from 'vitest';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';

const SPLIT = {
  ...{ site_id: 'shop', moved: ['p_1'], stayed: ['p_2'], person_id: 'p_1', former_person_id: 'p_2' },
  ...{ version: 1, split_at: 1 },
};

/** A warehouse of which every question finds one row, that notes which statements send no progress while they last. */
function recorded() {
  const mute: string[] = [];
  const row = { month: 202_601, found: 1, day: '2026-01-01', mutations: 0, ...SPLIT };
  const note = ({ query, clickhouse_settings: settings }: { query: string; clickhouse_settings?: object }): void => {
    const sends = { send_progress_in_http_headers: 1, http_headers_progress_interval_ms: '20000' };
    if (Object.entries(sends).some(([name, value]) => (settings as never)?.[name] !== value)) mute.push(query);
  };
  const warehouse = {
    async query(asked: { query: string }) {
      note(asked);
      return { json: async () => [row] };
    },
    command: async (asked: { query: string }) => note(asked),
  };
  return { mute, warehouse: warehouse as unknown as Warehouse };
}

test('what reads all rows at night sends signs of life, as a minute without a byte ends it', async () => {
  const { mute, warehouse } = recorded();
  expect(await mergeNightly(warehouse)).toEqual({ rows: 1, months: 1, daysForgotten: 0, splitRows: 1 });
  expect(mute.filter((query) => /event_rows|merged_persons\b/.test(query))).toEqual([]);
});
