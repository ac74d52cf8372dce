import { expect, test } from 'vitest';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import { documentedQuestions, selectedByPersons } from '#test/harness/documented_questions.ts';
import { useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();

/** Lines of EXPLAIN QUERY TREE: what ClickHouse analyses, sets and arrays that it worked out by then left out. */
const LINES_MAX = 2_700;
/** Orders are put together before they are counted, by currencies that there are first. */
const LINES_MAX_OF_SEVERAL = 3_670;
const SEVERAL = /^revenue/;

test('ClickHouse has little to analyse in any question with a condition on persons', async () => {
  const { warehouse } = await create.migrated();
  for (const { name, statement } of [...documentedQuestions('person'), ...selectedByPersons()]) {
    const explained = await warehouse.query({
      query: `EXPLAIN QUERY TREE ${statement.sql}`,
      query_params: statement.parameters,
      format: 'TabSeparated',
      clickhouse_settings: querySettings(QUERY_LIMITS),
    });
    const lines = (await explained.text()).trimEnd().split('\n').length;
    expect(lines, name).toBeLessThanOrEqual(SEVERAL.test(name) ? LINES_MAX_OF_SEVERAL : LINES_MAX);
    expect(lines, name).toBeGreaterThan(100);
  }
});
