import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import { type DocumentedQuestion, documentedQuestions } from '#test/harness/documented_questions.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { cpuOf } from '../bench/cpu.ts';

const parts = useOwnParts('clickhouse');
/** Times that each question is analysed: processor time is counted in hundredths of a second. */
const ROUNDS = 10;
const TIMEOUT_MS = 600_000;
const MS_MAX = 60;
/** What is more than one question: a funnel for each of several fields; and what goes with conditions, where much is made of the rows. */
const MS_MAX_OF_SEVERAL = 90;
const SEVERAL = /two fields|^paths|another (value|way)|^trends, by|^funnel, by the/;

const mostOf = ({ name, filtered }: DocumentedQuestion): number =>
  name.includes('two fields') || (filtered !== 'none' && SEVERAL.test(name)) ? MS_MAX_OF_SEVERAL : MS_MAX;

test('on an empty database any question is analysed in no more processor time than a user notices', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { addresses, parts: running } = parts();
  const warehouse = createWarehouse(addresses.clickhouseUrl);
  onTestFinished(() => warehouse.close());
  await migrate(warehouse, addresses.clickhouseUrl);
  const analyse = async ({ statement }: DocumentedQuestion): Promise<void> => {
    const explained = await warehouse.query({
      query: `EXPLAIN QUERY TREE ${statement.sql}`,
      query_params: statement.parameters,
      format: 'TabSeparated',
      clickhouse_settings: querySettings(QUERY_LIMITS),
    });
    await explained.text();
  };
  const pid = running.clickhouse?.pid ?? 0;
  const slow: string[] = [];
  for (const question of documentedQuestions('none', 'property', 'person')) {
    await analyse(question);
    const before = cpuOf(pid);
    for (let round = 0; round < ROUNDS; round++) await analyse(question);
    const line = `${Math.round(((cpuOf(pid) - before) * 1_000) / ROUNDS)} ms, ${question.statement.sql.length} bytes: ${question.name}`;
    process.stdout.write(`${line}\n`);
    if (Number.parseInt(line, 10) > mostOf(question)) slow.push(line);
  }
  expect(slow).toEqual([]);
});
